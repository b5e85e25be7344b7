package main

import (
	"bytes"
	"errors"
	"go/ast"
	"log/slog"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
	"newsletterd/core"
)

func TestLogsHideSecretsAndAddresses(t *testing.T) {
	markers := []slog.Attr{
		slog.String("password", "marker-1"), slog.Any("secret", config.Secret("marker-2")),
		slog.String("Authorization", "marker-3"),
		slog.String("url", "http://a/confirm?token=marker-4&x=1"),
		slog.Any("error", errors.New("GET /x?code=marker-5: refused")),
		slog.String("header", "Bearer marker-6-and-more"), slog.String("text", "whsec_marker7aaaaaaaaaaaaaaaaa="),
		slog.Any("relay", config.SMTP{Password: "marker-8"}), slog.Group("g", slog.String("token", "marker-9")),
		slog.Any("to", core.Email("marker-ten@example.org")),
		slog.Any("error", errors.New("550 <marker-ten@example.org> unknown")),
		slog.String("jwt", "eyJhbGciOiJFUzI1NiJ9.eyJtYXJrZXIiOjF9.marker-11"),
	}
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log := newLog(config.Log{Level: "debug", Format: format}, &b)
		log.LogAttrs(t.Context(), slog.LevelInfo, "line", markers...)
		if out := b.String(); strings.Contains(out, "marker") || strings.Contains(out, "eyJ") {
			t.Errorf("%s: %s", format, out)
		}
		if !strings.Contains(b.String(), "m***@example.org") {
			t.Errorf("%s: addresses are to be masked, not removed: %s", format, &b)
		}
	}
	var b bytes.Buffer
	newLog(config.Log{Level: "info", Format: "text", PII: true}, &b).Info("line",
		slog.Any("to", core.Email("ann@example.org")), slog.String("password", "marker"))
	if out := b.String(); !strings.Contains(out, "ann@example.org") || strings.Contains(out, "marker") {
		t.Errorf("with pii: %s", out)
	}
}

func TestLogForms(t *testing.T) {
	var b bytes.Buffer
	newLog(config.Log{Level: "warn", Format: "auto"}, &b).Info("hidden")
	if b.Len() > 0 {
		t.Errorf("below the level: %s", &b)
	}
	newLog(config.Log{Level: "warn", Format: "auto"}, &b).Warn("seen")
	if !strings.HasPrefix(b.String(), "{") {
		t.Errorf("not on a terminal it is JSON: %s", &b)
	}
}

// TestLogNamesNoFigureAsASecret checks that only secrets have names that the log masks, because a number with such a
// name would be lost.
func TestLogNamesNoFigureAsASecret(t *testing.T) {
	daemontest.Parallel(t)
	for _, f := range sourcetest.Files(t) {
		if f.Test() {
			continue
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, isName := sel.X.(*ast.Ident)
			key, isText := call.Args[0].(*ast.BasicLit)
			if isName && pkg.Name == "slog" && isText && secretNames[strings.ToLower(strings.Trim(key.Value, `"`))] {
				t.Errorf("%s: the log masks what is named %s", f.Set.Position(key.Pos()), key.Value)
			}
			return true
		})
	}
}
