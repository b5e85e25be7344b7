package main

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// printConfig writes the effective configuration as TOML that could be read again, secrets masked, with a remark
// on each key that somebody set.
func printConfig(w io.Writer, c *Config) error {
	var b bytes.Buffer
	if c.File != "" {
		fmt.Fprintf(&b, "# file: %s\n", c.File)
	}
	section := ""
	walkConfig(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		dot := strings.LastIndexByte(path, '.')
		if path[:dot] != section {
			section = path[:dot]
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "[%s]\n", section)
		}
		fmt.Fprintf(&b, "%s = %s%s\n", path[dot+1:], tomlValue(v), remark(c, path))
	})
	printProviders(&b, c)
	_, err := w.Write(b.Bytes())
	return err
}

func remark(c *Config, path string) string {
	switch {
	case c.From[path] != "":
		return "  # " + c.From[path]
	case path == "server.public_url":
		return "  # " + c.Origin()
	default:
		return ""
	}
}

// tomlValue is the literal of a key's value. Texts are masked by their own String methods.
func tomlValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case bool, int:
		return fmt.Sprint(x)
	case []string:
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = tomlString(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		return tomlString(fmt.Sprint(x))
	}
}

// tomlString quotes as TOML does, whose escapes differ from Go's for control characters.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\u00`)
			if r < 0x10 {
				b.WriteByte('0')
			}
			b.WriteString(strconv.FormatInt(int64(r), 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// configJSON is the same as nested objects, for scripts.
func configJSON(c *Config) map[string]any {
	root := map[string]any{}
	walkConfig(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		at := root
		words := strings.Split(path, ".")
		for _, w := range words[:len(words)-1] {
			sub, ok := at[w].(map[string]any)
			if !ok {
				sub = map[string]any{}
				at[w] = sub
			}
			at = sub
		}
		value := v.Interface()
		if s, ok := value.(fmt.Stringer); ok {
			value = s.String()
		}
		at[words[len(words)-1]] = value
	})
	if len(c.Providers) > 0 {
		root[providersSection] = providersJSON(c)
	}
	return root
}
