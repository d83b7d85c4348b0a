"""Own transforms: functions of the user that a spec names."""
