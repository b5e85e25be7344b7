// Package config reads the daemon's configuration from TOML, environment variables and flags.
//
//	config.go     Config, its sections and defaults
//	load.go       Load: merges the sources with the defaults; its error lists every fault
//	check.go      rules for single values and for combinations
//	value.go      durations, sizes, percentages and secrets
//	providers.go  email providers [providers.NAME]
//	print.go      the effective configuration as TOML or JSON
//
// Each key path.of.key in the file can also be set with the variable NEWSLETTERD_PATH_OF_KEY.
package config
