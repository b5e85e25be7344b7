package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
)

// TestSecretsInAFileThatOthersMayRead checks that every secret in the configuration file counts, not only the relay's
// password.
func TestSecretsInAFileThatOthersMayRead(t *testing.T) {
	whsec := "whsec_" + strings.Repeat("A", 43) + "="
	for text, want := range map[string]bool{
		"[log]\nlevel = \"warn\"\n":                         false,
		"[mail.smtp]\nusername = \"u\"\npassword = \"p\"\n": true,
		"[webhooks]\nsend_url = \"https://send.example\"\nsend_client = \"c\"\nsend_secret = \"" + whsec + "\"\n": true,
		"[send]\nmember_url = \"https://member.example\"\nmember_client = \"c\"\nmember_secret = \"s\"\n":         true,
		"[providers.p]\nsecret = \"" + whsec + "\"\n":                                                             true,
		"[providers.p]\nsecrets = [\"" + whsec + "\"]\n":                                                          true,
	} {
		file := filepath.Join(t.TempDir(), "newsletterd.toml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Sources{File: file})
		if err != nil {
			t.Fatal(err)
		}
		if readableByOthers(cfg) {
			t.Errorf("mode 0600: %s", text)
		}
		if err := os.Chmod(file, 0o640); err != nil {
			t.Fatal(err)
		}
		if got := readableByOthers(cfg); got != want {
			t.Errorf("mode 0640: %v\n%s", got, text)
		}
	}
}
