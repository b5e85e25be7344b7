package main

import (
	"runtime"
	"runtime/debug"

	"newsletterd/handlers"
)

// release is the version of a released binary, which the linker sets. It is empty in a binary built from a working
// copy.
var release string

// versionInfo is the output of `newsletterd version`.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	SQLite   string `json:"sqlite_driver,omitempty"`
}

func version() string { return versionOf().Version }

func versionOf() versionInfo {
	v := versionInfo{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if v.Version == "" {
		v.Version = "devel"
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	modified := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if modified && v.Commit != "" {
		v.Commit += "+changes"
	}
	for _, m := range info.Deps {
		if m.Path == "modernc.org/sqlite" {
			v.SQLite = m.Version
		}
	}
	return v
}

// versions returns the version information that the console shows to server administrators.
func versions() handlers.Versions {
	v := versionOf()
	return handlers.Versions{Program: v.Version, Commit: v.Commit, Go: v.Go, SQLite: v.SQLite}
}
