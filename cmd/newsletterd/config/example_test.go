package config_test

import (
	"fmt"
	"os"
	"path/filepath"

	"newsletterd/cmd/newsletterd/config"
)

// ExampleLoad shows that a flag overrides a variable, a variable the file, and the file the default.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "newsletterd.toml")
	if err := os.WriteFile(file, []byte("[log]\nlevel = \"warn\"\nformat = \"text\"\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := config.Load(config.Sources{
		File: file, Env: []string{"NEWSLETTERD_LOG_LEVEL=error", "NEWSLETTERD_SERVER_LISTEN=127.0.0.1:9000"},
		Flags: map[string]string{"log.level": "debug"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Log.Level, cfg.Log.Format, cfg.Server.Listen)

	_, err = config.Load(config.Sources{File: file, Flags: map[string]string{"log.level": "loud"}})
	fmt.Println(err)
	// Output:
	// debug text 127.0.0.1:9000
	// the configuration is invalid:
	//   log.level: must be "debug" or "info" or "warn" or "error", not "loud" (flag)
}
