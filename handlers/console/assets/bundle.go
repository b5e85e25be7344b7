//go:build ignore

// Bundle builds dist from src. `make console` runs it with the esbuild package and its version as the argument. npm
// downloads the libraries in src/package-lock.json to a temporary folder, without running any of their code.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	folder       = "handlers/console/assets"
	licensesName = "LICENSES.txt"
	fontLibrary  = "@fontsource-variable/inter"
)

// fonts maps names in dist to the corresponding files of fontLibrary: all weights, upright.
var fonts = map[string]string{
	"inter-latin.woff2":     "inter-latin-wght-normal.woff2",
	"inter-latin-ext.woff2": "inter-latin-ext-wght-normal.woff2",
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: go run " + folder + "/bundle.go PACKAGE@VERSION")
	}
	if err := bundle(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func bundle(esbuild string) error {
	tmp, err := os.MkdirTemp("", "console")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(folder, "src", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o600); err != nil {
			return err
		}
	}
	if err := run(tmp, "npm", "ci", "--silent"); err != nil {
		return err
	}
	dist, meta := filepath.Join(folder, "dist"), filepath.Join(tmp, "meta.json")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	args := []string{"run", esbuild}
	for _, name := range []string{"htmx.js", "console.js", "editor.js", "editor.css", "code.js"} {
		args = append(args, filepath.Join(folder, "src", name))
	}
	args = append(args, "--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8",
		"--legal-comments=none", "--log-level=warning", "--outdir="+dist, "--metafile="+meta)
	if err := os.Setenv("NODE_PATH", filepath.Join(tmp, "node_modules")); err != nil {
		return err
	}
	if err := run(".", "go", args...); err != nil {
		return err
	}
	for name, file := range fonts {
		font, err := os.ReadFile(filepath.Join(tmp, "node_modules", fontLibrary, "files", file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dist, name), font, 0o644); err != nil {
			return err
		}
	}
	if err := licenses(meta, tmp, dist); err != nil {
		return err
	}
	if err := sources(dist); err != nil {
		return err
	}
	if err := sums(dist); err != nil {
		return err
	}
	return pack(dist)
}

func run(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, os.Stderr, os.Stderr
	return c.Run()
}

// licenses writes the licenses of the libraries that the metafile lists for files in dist.
func licenses(meta, tmp, dist string) error {
	text, err := os.ReadFile(meta)
	if err != nil {
		return err
	}
	var made struct {
		Outputs map[string]struct{ Inputs map[string]any }
	}
	if err := json.Unmarshal(text, &made); err != nil {
		return err
	}
	used := map[string][]string{fontLibrary: slices.Collect(maps.Keys(fonts))} // library → files of dist
	for output, o := range made.Outputs {
		for input := range o.Inputs {
			_, path, ok := strings.Cut(input, "node_modules/")
			if !ok {
				continue
			}
			name, rest, _ := strings.Cut(path, "/")
			if strings.HasPrefix(name, "@") { // scope of an organization
				inner, _, _ := strings.Cut(rest, "/")
				name += "/" + inner
			}
			if file := filepath.Base(output); !slices.Contains(used[name], file) {
				used[name] = append(used[name], file)
			}
		}
	}
	var out strings.Builder
	out.WriteString("The scripts of the console contain these libraries, and its pages this font.\n")
	for _, name := range slices.Sorted(maps.Keys(used)) {
		slices.Sort(used[name])
		about, license, err := library(filepath.Join(tmp, "node_modules", name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n%s\n\n%s, in %s\n\n%s\n", strings.Repeat("=", 78), about, strings.Join(used[name], ", "),
			strings.TrimSpace(license))
	}
	return os.WriteFile(filepath.Join(dist, licensesName), []byte(out.String()), 0o644)
}

// library returns a library's name, version and license text.
func library(dir string) (about, license string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", "", err
	}
	var p struct{ Name, Version string }
	if err := json.Unmarshal(text, &p); err != nil {
		return "", "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "LICEN[SC]E*"))
	if err != nil || len(files) == 0 {
		return "", "", fmt.Errorf("%s has no license text (%v)", p.Name, err)
	}
	text, err = os.ReadFile(files[0])
	return p.Name + " " + p.Version, strings.ReplaceAll(string(text), "\r\n", "\n"), err
}

// sources writes the checksum of src. A test uses it to verify that dist is up to date.
func sources(dist string) error {
	sum := sha256.New()
	err := filepath.WalkDir(filepath.Join(folder, "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(folder, path)
		fmt.Fprintln(sum, filepath.ToSlash(name))
		sum.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "SOURCES"), fmt.Appendf(nil, "%x\n", sum.Sum(nil)), 0o644)
}

// sums writes SHA256SUMS for the uncompressed files, in the format of sha256sum.
func sums(dist string) error {
	files, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	var out strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dist, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(text), f.Name())
	}
	return os.WriteFile(filepath.Join(dist, "SHA256SUMS"), []byte(out.String()), 0o644)
}

// pack compresses scripts, styles, fonts and licenses to files with the suffix .gz. The licenses are also kept
// uncompressed for readers.
func pack(dist string) error {
	files, err := filepath.Glob(filepath.Join(dist, "*.*")) // without the checksums
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(name+".gz", packed.Bytes(), 0o644); err != nil {
			return err
		}
		if filepath.Base(name) == licensesName {
			continue
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}
