package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// `make clients` sets these variables: the Go client generator in the form that `go run` takes, and the folder in which
// npm installed the packages for the TypeScript client.
const (
	oapiCodegenEnv = "OAPI_CODEGEN"
	nodeModulesEnv = "NODE_MODULES"
)

// generatedClient is a folder in which a program that uses generated clients is built and run.
type generatedClient struct {
	*testing.T
	dir string
	env []string
}

// newGeneratedClient copies the program for a language from testdata/clients.
func newGeneratedClient(t *testing.T, language, origin, token string) *generatedClient {
	t.Helper()
	c := &generatedClient{t, t.TempDir(), append(os.Environ(), "ORIGIN="+origin, "TOKEN="+token, "GOFLAGS=")}
	if err := os.CopyFS(c.dir, os.DirFS("../../testdata/clients/"+language)); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *generatedClient) run(name string, args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), name, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// document writes an OpenAPI document of the daemon into the folder.
func (c *generatedClient) document(d *running, name string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name+".json"), d.handler.Document(name), 0o600); err != nil {
		c.Fatal(err)
	}
}

// TestGeneratedClients generates clients from the OpenAPI documents with widely used generators. Programs that use them
// compile, and their calls work.
func TestGeneratedClients(t *testing.T) {
	if os.Getenv(oapiCodegenEnv) == "" {
		t.Skip("SKIPPED: `make clients` runs it")
	}
	d := start(t, nil)
	d.operator("admin newsletter:send newsletter:list.read newsletter:events.write devices models.read models.write")
	documents := []string{"member", "send", "devices"}
	t.Run("Go", func(t *testing.T) {
		c := newGeneratedClient(t, "go", d.cfg.Origin(), d.Token)
		for _, name := range documents {
			c.document(d, name)
			if err := os.Mkdir(filepath.Join(c.dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			c.run("go", "run", os.Getenv(oapiCodegenEnv), "-generate", "types,client", "-package", name, "-o",
				name+"/client.go", name+".json")
		}
		c.run("go", "build", "-o", "client", ".")
		if got := c.run("./client"); got != "16 calls\n" {
			t.Errorf("it says %q", got)
		}
	})
	t.Run("TypeScript", func(t *testing.T) {
		modules := os.Getenv(nodeModulesEnv)
		if modules == "" {
			t.Skip("SKIPPED: no npm on this machine, so no client in TypeScript is made")
		}
		c := newGeneratedClient(t, "typescript", d.cfg.Origin(), d.Token)
		if err := os.Symlink(modules, filepath.Join(c.dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		for _, name := range documents {
			c.document(d, name)
			c.run("node_modules/.bin/openapi-typescript", name+".json", "-o", name+".ts")
		}
		c.run("node_modules/.bin/tsc",
			strings.Fields("--strict --target es2022 --module nodenext --skipLibCheck client.ts")...)
		if got := c.run("node", "client.js"); got != "16 calls\n" {
			t.Errorf("it says %q", got)
		}
	})
}
