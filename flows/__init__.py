"""When and where it runs: builds, schedules and engines; the only importer of Prefect."""
