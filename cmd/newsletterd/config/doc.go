// Package config reads the configuration of the daemon from TOML, environment variables and flags.
//
//	config.go     Config, its sections and defaults
//	load.go       Load: the sources over the defaults; an error names every fault, not only the first
//	check.go      the rules for single values and for those that must fit each other
//	value.go      time spans, sizes, shares and secrets
//	providers.go  the mail providers [providers.NAME]
//	print.go      the effective configuration as TOML or JSON
//
// Each key path.of.key of the file is also set by the variable NEWSLETTERD_PATH_OF_KEY.
package config
