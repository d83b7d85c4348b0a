"""Where bytes rest: stores, hot and cold tiers, DVC."""
