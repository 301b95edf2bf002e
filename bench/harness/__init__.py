"""What the benches share: rivals in processes of their own, the machine's limits, tables and verdicts."""
