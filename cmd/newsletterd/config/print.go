package config

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// WriteTOML writes the effective configuration as valid TOML. Secrets are masked, and a comment follows each key that
// was set.
func (c *Config) WriteTOML(w io.Writer) error {
	var b bytes.Buffer
	if c.File != "" {
		fmt.Fprintf(&b, "# file: %s\n", c.File)
	}
	section := ""
	walk(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
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
	c.writeProviders(&b)
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

// tomlValue returns the TOML literal for a value. Secrets are masked, because it uses their String method.
func tomlValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case bool, int:
		return fmt.Sprint(x)
	case []string:
		quoted := make([]string, len(x))
		for i, s := range x {
			quoted[i] = Quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	default:
		return Quote(fmt.Sprint(x))
	}
}

// Quote returns s as a TOML string literal, in which control characters are escaped differently than in Go.
func Quote(s string) string {
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

// Tree returns the effective configuration as nested objects, with masked secrets.
func (c *Config) Tree() map[string]any {
	root := map[string]any{}
	walk(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
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
		root[providersSection] = c.providersTree()
	}
	return root
}
