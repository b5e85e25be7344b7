package config

import (
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/store/replica/objects"
)

// DefaultFile is the configuration file that is read if it exists and no other one is named.
const DefaultFile = "./newsletterd.toml"

// InstalledFiles lists the paths where installations keep the configuration file. Commands try them in this order if
// DefaultFile does not exist and neither a flag nor the environment names a configuration or database.
var InstalledFiles = []string{"/etc/newsletterd/newsletterd.toml", "/var/lib/newsletterd/newsletterd.toml"}

// EnvFile is the environment variable that names the configuration file if no flag does.
const EnvFile = EnvPrefix + "CONFIG"

// EnvPrefix is the prefix of all environment variables.
const EnvPrefix = "NEWSLETTERD_"

// Fault is one error in the configuration.
type Fault struct {
	Key  string // path, such as mail.smtp.port; empty: the whole file
	From string // file name, variable or flag that set the key
	Text string
}

func (f Fault) String() string {
	s := f.Text
	if f.Key != "" {
		s = f.Key + ": " + s
	}
	if f.From != "" {
		s += " (" + f.From + ")"
	}
	return s
}

// Faults is an error with all faults of the configuration, so that they are reported together.
type Faults []Fault

func (f Faults) Error() string {
	var b strings.Builder
	b.WriteString("the configuration is invalid:")
	for _, one := range f {
		b.WriteString("\n  " + one.String())
	}
	return b.String()
}

// Sources holds everything that Load reads a configuration from. Flags override the environment, which overrides the
// file.
type Sources struct {
	File  string            // must exist; empty: the file named by EnvFile, or else DefaultFile if it exists
	Env   []string          // in the form of os.Environ
	Flags map[string]string // by path of the key

	// Installed lists the files to try if DefaultFile does not exist and database.path is not set elsewhere. They are
	// ignored if the current folder has a database with the default name.
	Installed []string
}

// files returns the names of the configuration files to try. If must is true, the first one has to exist.
func (s *Sources) files() (names []string, must bool) {
	_, err := os.Stat(Default().Database.Path)
	name, set := s.File, err == nil || s.Flags["database.path"] != ""
	for _, kv := range s.Env {
		switch key, value, _ := strings.Cut(kv, "="); {
		case value == "":
		case key == EnvFile && s.File == "":
			name = value
		case key == envName("database.path"):
			set = true
		}
	}
	switch {
	case name != "":
		return []string{name}, true
	case set: // the settings of an installation must not apply to another database
		return []string{DefaultFile}, false
	}
	return append([]string{DefaultFile}, s.Installed...), false
}

// Load merges all sources with the defaults and checks the result. If the file can be read, all errors are of type
// Faults.
func Load(src Sources) (*Config, error) {
	names, must := src.files()
	name, text, err := readFirst(names, must)
	if err != nil {
		return nil, err
	}
	r := newLoader()
	r.cfg.File = name
	if name == "" {
		r.cfg.Searched = names
	}
	r.file(name, text)
	r.env(src.Env)
	for _, key := range slices.Sorted(maps.Keys(src.Flags)) {
		r.text(key, src.Flags[key], "flag", "flag")
	}
	if path := r.cfg.Database.Path; slices.Contains(src.Installed, name) && name != src.File && !filepath.IsAbs(path) {
		r.fault("database.path", name, "%q is relative to the service's folder. Run the command there with --config "+
			"%s, or use an absolute path", path, name)
	}
	r.check()
	if len(r.faults) > 0 {
		return nil, r.faults
	}
	return r.cfg, nil
}

// readFirst reads the first of the named files that exists. If none exists, it returns empty strings or, if must is
// true, an error.
func readFirst(names []string, must bool) (name, text string, err error) {
	for _, name := range names {
		b, err := os.ReadFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !must:
			continue
		case err != nil:
			return "", "", fmt.Errorf("configuration: %w", err)
		}
		return name, string(b), nil
	}
	return "", "", nil
}

// loader sets values in a Config by the paths of their keys, and collects faults.
type loader struct {
	cfg    *Config
	keys   map[string]reflect.Value
	order  []string
	source map[string]string // path → source named in a fault
	faults Faults
}

func newLoader() *loader {
	r := &loader{cfg: Default(), keys: map[string]reflect.Value{}, source: map[string]string{}}
	walk(reflect.ValueOf(r.cfg).Elem(), "", func(path string, v reflect.Value) {
		r.keys[path] = v
		r.order = append(r.order, path)
	})
	return r
}

// walk calls fn for every key in a section and its subsections, in the order of the fields.
func walk(v reflect.Value, prefix string, fn func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("toml")
		if tag == "-" {
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Struct {
			walk(f, prefix+tag+".", fn)
		} else {
			fn(prefix+tag, f)
		}
	}
}

func (r *loader) fault(key, from, format string, args ...any) {
	r.faults = append(r.faults, Fault{Key: key, From: from, Text: fmt.Sprintf(format, args...)})
}

func (r *loader) file(name, text string) {
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		if pe, ok := errors.AsType[toml.ParseError](err); ok {
			r.fault("", name, "line %d: %s", pe.Position.Line, pe.Message)
		} else {
			r.fault("", name, "%s", err)
		}
		return
	}
	r.tree("", tree, name)
}

func (r *loader) tree(prefix string, tree map[string]any, name string) {
	for _, k := range slices.Sorted(maps.Keys(tree)) {
		path := prefix + k
		if path == providersSection {
			r.providers(tree[k], name)
			continue
		}
		if _, ok := r.keys[path]; ok {
			r.set(path, tree[k], "file", name)
			continue
		}
		sub, isTable := tree[k].(map[string]any)
		switch {
		case r.isSection(path) && isTable:
			r.tree(path+".", sub, name)
		case r.isSection(path):
			r.fault(path, name, "is a section. Write [%s]", path)
		case isTable:
			r.fault(path, name, "unknown section%s", terminal.DidYouMean(path, r.sections()))
		default:
			r.fault(path, name, "unknown key%s", terminal.DidYouMean(path, r.order))
		}
	}
}

func (r *loader) isSection(path string) bool { return slices.Contains(r.sections(), path) }

func (r *loader) sections() []string {
	var out []string
	for _, key := range r.order {
		for i := range key {
			if key[i] == '.' && !slices.Contains(out, key[:i]) {
				out = append(out, key[:i])
			}
		}
	}
	return out
}

// env reads the environment variables that start with EnvPrefix. It ignores those whose second word is not a section,
// because container platforms set variables such as NEWSLETTERD_SERVICE_HOST.
func (r *loader) env(environ []string) {
	byName := map[string]string{}
	for _, key := range r.order {
		byName[envName(key)] = key
	}
	for _, kv := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, EnvPrefix) {
			continue
		}
		if key, ok := byName[name]; ok {
			r.text(key, value, "environment", "environment "+name)
			continue
		}
		if r.providerEnv(name, value) || name == objects.EnvKeyID || name == objects.EnvSecretKey {
			continue
		}
		section, _, _ := strings.Cut(strings.ToLower(name[len(EnvPrefix):]), "_")
		if r.isSection(section) {
			hint := terminal.DidYouMean(name, slices.Sorted(maps.Keys(byName)))
			r.fault("", "environment "+name, "no key matches this variable%s", hint)
		}
	}
}

func envName(key string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// text sets a key from the text in an environment variable or a flag. The elements of a list are separated by commas.
func (r *loader) text(key, value, kind, from string) {
	v, ok := r.keys[key]
	if !ok {
		r.fault(key, from, "unknown key")
		return
	}
	var err error
	var parsed any = value
	switch v.Interface().(type) {
	case bool:
		parsed, err = strconv.ParseBool(value)
	case int:
		parsed, err = strconv.ParseInt(value, 10, 64)
	case []string:
		parsed = splitList(value)
	}
	if err != nil {
		parsed = value // wrong type, which set reports
	}
	r.set(key, parsed, kind, from)
}

// splitList splits a comma-separated list.
func splitList(value string) any {
	list := []any{}
	for word := range strings.SplitSeq(value, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// set sets a key to a value that has its TOML type: string, int64, bool, or a list of strings.
func (r *loader) set(key string, value any, kind, from string) {
	v := r.keys[key]
	if err := assign(v, value); err != nil {
		r.fault(key, from, "%s", err)
		return
	}
	r.source[key] = from
	r.cfg.From[key] = kind
}

func assign(v reflect.Value, value any) error {
	if s, ok := value.(string); ok {
		if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
			return u.UnmarshalText([]byte(s))
		}
		if v.Kind() == reflect.String {
			v.SetString(s)
			return nil
		}
	}
	switch got := value.(type) {
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(got)
			return nil
		}
	case int64:
		if v.Kind() == reflect.Int {
			if got != int64(int(got)) {
				return fmt.Errorf("%d is too large", got)
			}
			v.SetInt(got)
			return nil
		}
		if _, isSize := v.Interface().(Size); isSize && got >= 0 {
			v.SetInt(got)
			return nil
		}
		if _, isSpan := v.Interface().(Duration); isSpan && got == 0 {
			v.SetInt(0)
			return nil
		}
	case []any:
		if v.Type() == reflect.TypeFor[[]string]() {
			list := make([]string, len(got))
			for i, item := range got {
				s, ok := item.(string)
				if !ok {
					return fmt.Errorf("item %d must be a string", i+1)
				}
				list[i] = s
			}
			v.Set(reflect.ValueOf(list))
			return nil
		}
	}
	return fmt.Errorf("must be %s", typeWords(v))
}

func typeWords(v reflect.Value) string {
	switch v.Interface().(type) {
	case Duration:
		return `a duration in quotes, for example "30s", "15m" or "400d"`
	case Percent:
		return `a percentage in quotes, for example "0.3%"`
	case Size:
		return `a number of bytes, or a size in quotes, for example "512MiB"`
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case []string:
		return "a list of strings"
	default:
		return "a string"
	}
}
