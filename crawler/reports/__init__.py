"""Reports about cleaning: why a block was kept or dropped (`explain`), and what each method keeps (`compare`)."""
