package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

const exampleFile = "../../../newsletterd.example.toml"

// TestExampleIsTheDefaults checks that the example, which documents the keys, has each key with its default below a
// comment.
func TestExampleIsTheDefaults(t *testing.T) {
	text, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	cfg := readText(t, string(text))
	var tree map[string]any
	meta, err := toml.Decode(string(text), &tree)
	if err != nil {
		t.Fatal(err)
	}
	defaults := reflect.ValueOf(Default()).Elem()
	got := map[string]any{}
	walk(reflect.ValueOf(cfg).Elem(), "", func(path string, v reflect.Value) { got[path] = v.Interface() })
	walk(defaults, "", func(path string, v reflect.Value) {
		if !meta.IsDefined(strings.Split(path, ".")...) {
			t.Errorf("%s is missing in the example", path)
		}
		if !reflect.DeepEqual(got[path], v.Interface()) {
			t.Errorf("%s is %v in the example, its default is %v", path, got[path], v.Interface())
		}
	})
}

func TestConfigOrder(t *testing.T) {
	file := writeFile(t, "[server]\nlisten = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\n[send]\nmax_unrecorded = 16\n")
	cfg, err := Load(Sources{
		File: file,
		Env: []string{
			"NEWSLETTERD_SERVER_LISTEN=127.0.0.1:2", "NEWSLETTERD_LOG_LEVEL=error", "PATH=/bin",
			"NEWSLETTERD_SERVICE_HOST=10.0.0.1",
		},
		Flags: map[string]string{"server.listen": "127.0.0.1:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server.Listen != "127.0.0.1:3" || cfg.Log.Level != "error" || cfg.Send.MaxUnrecorded != 16 {
		t.Errorf("flag, environment, file: got %s, %s, %d", cfg.Server.Listen, cfg.Log.Level, cfg.Send.MaxUnrecorded)
	}
	for key, from := range map[string]string{
		"server.listen": "flag", "log.level": "environment",
		"send.max_unrecorded": "file", "log.format": "",
	} {
		if cfg.From[key] != from {
			t.Errorf("%s is said to come from %q, not %q", key, cfg.From[key], from)
		}
	}
}

// TestEveryKeyHasAVariable sets every key to the example's value through its environment variable.
func TestEveryKeyHasAVariable(t *testing.T) {
	var env []string
	walk(reflect.ValueOf(Default()).Elem(), "", func(path string, v reflect.Value) {
		word := strings.Trim(tomlValue(v), `"[]`)
		env = append(env, envName(path)+"="+word)
	})
	cfg, err := Load(Sources{File: os.DevNull, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.From) != len(env) {
		t.Errorf("%d of %d variables took effect", len(cfg.From), len(env))
	}
}

func TestConfigFaults(t *testing.T) {
	cases := []struct{ name, text, env, want string }{
		{"unknown key", "[server]\nlisen = \"x\"", "", "server.lisen: unknown key; did you mean server.listen?"},
		{"unknown section", "[servr]\nlisten = \"x\"", "", "servr: unknown section; did you mean server?"},
		{"section as key", "server = 1", "", "server: is a section. Write [server]"},
		{"key outside its section", "listen = \"x\"", "", "listen: unknown key"},
		{"not TOML", "[server] x", "", "line 1: "},
		{"twice", "[log]\npii = true\npii = true", "", "line 3: "},
		{"type", "[mail.smtp]\nport = \"587\"", "", "mail.smtp.port: must be a whole number"},
		{"type of a switch", "[log]\npii = \"yes\"", "", "log.pii: must be true or false"},
		{
			"type of a span", "[newsletter]\npending_ttl = 30", "",
			`newsletter.pending_ttl: must be a duration in quotes`,
		},
		{"span", "[newsletter]\npending_ttl = \"30 days\"", "", `newsletter.pending_ttl: "30 days" is not a duration`},
		{
			"short span", "[newsletter]\npending_ttl = \"3d\"", "",
			`newsletter.pending_ttl: must be from 7d to 3660d, not 3d`,
		},
		{"list", "[server]\ntrusted_proxies = \"10.0.0.1\"", "", "server.trusted_proxies: must be a list of strings"},
		{"item of a list", "[server]\ntrusted_proxies = [1]", "", "server.trusted_proxies: item 1 must be a string"},
		{"range", "[server]\ntrusted_proxies = [\"10.0.0.0/33\"]", "", `"10.0.0.0/33" is not an IP address or a range`},
		{"address", "[server]\nlisten = \"localhost\"", "", `server.listen: "localhost" is not an address`},
		{"port", "[server]\nlisten = \"localhost:99999\"", "", `server.listen: "localhost:99999" is not an address`},
		{
			"origin with a path", "[server]\npublic_url = \"https://a.example/api\"", "",
			"must consist of a scheme and a host",
		},
		{"origin without scheme", "[server]\npublic_url = \"a.example\"", "", "is not an origin"},
		{
			"certificate alone", "[server]\ntls_cert = \"" + exampleFile + "\"", "",
			"server.tls_key: is missing, but server.tls_cert is set",
		},
		{"missing file", "[auth]\nkey_file = \"/nonexistent\"", "", "auth.key_file: open /nonexistent: no such file"},
		{"word", "[mail]\ntransport = \"pigeon\"", "", `mail.transport: must be "smtp" or "directory", not "pigeon"`},
		{"number", "[send]\nmax_unrecorded = 0", "", "send.max_unrecorded: must be from 1 to 65536, not 0"},
		{
			"sender", "[mail]\nfrom = \"News <a@example.org>\"", "",
			"mail.from: \"News <a@example.org>\" is not a valid email address",
		},
		{
			"relay with a port", "[mail.smtp]\nhost = \"relay.example:2525\"", "",
			`mail.smtp.host: contains a port. Set mail.smtp.host to "relay.example" and mail.smtp.port to 2525`,
		},
		{
			"relay with a port, IPv6", "[mail.smtp]\nhost = \"[2001:db8::1]:25\"", "",
			`Set mail.smtp.host to "2001:db8::1" and mail.smtp.port to 25`,
		},
		{"relay in brackets", "[mail.smtp]\nhost = \"[2001:db8::1]\"", "", `without brackets. Use "2001:db8::1"`},
		{
			"relay as a URL", "[mail.smtp]\nhost = \"smtp://relay.example\"", "",
			`without a scheme. Did you mean "relay.example"`,
		},
		{"relay with a colon", "[mail.smtp]\nhost = \"relay.example:\"", "", "mail.smtp.host: contains a port"},
		{"relay with a blank", "[mail.smtp]\nhost = \"relay example\"", "", `not "relay example"`},
		{"user without password", "[mail.smtp]\nusername = \"a\"", "", "mail.smtp.password: is missing"},
		{
			"password in clear", "[mail.smtp]\nhost = \"relay.example\"\nusername = \"a\"\npassword = \"b\"\ntls = \"none\"",
			"",
			"would send the password unencrypted",
		},
		{
			"same listener", "[metrics]\nlisten = \"127.0.0.1:8080\"", "",
			"metrics.listen: 127.0.0.1:8080 is also server.listen",
		},
		{
			"variable's value", "", "NEWSLETTERD_SEND_MAX_UNRECORDED=many",
			"send.max_unrecorded: must be a whole number (environment NEWSLETTERD_SEND_MAX_UNRECORDED)",
		},
		{
			"unknown variable", "", "NEWSLETTERD_SERVER_LISEN=x",
			"no key matches this variable; did you mean NEWSLETTERD_SERVER_LISTEN? (environment NEWSLETTERD_SERVER_LISEN)",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			src := Sources{File: writeFile(t, c.text)}
			if c.env != "" {
				src.Env = []string{c.env}
			}
			_, err := Load(src)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant a fault with: %s", err, c.want)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Load(Sources{File: writeFile(t, "[log]\nlevel = \"loud\"\ncolour = 1\n[send]\nmax_unrecorded = -1")})
	faults, ok := errors.AsType[Faults](err)
	if !ok || len(faults) != 3 {
		t.Fatalf("want three faults, got %v", err)
	}
}

func TestMissingFileIsAFault(t *testing.T) {
	if _, err := Load(Sources{File: filepath.Join(t.TempDir(), "none.toml")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that was named must exist: %v", err)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	cfg := readText(t, "[mail.smtp]\nusername = \"u\"\npassword = \"marker-4711\"")
	var b bytes.Buffer
	if err := cfg.WriteTOML(&b); err != nil {
		t.Fatal(err)
	}
	tree, err := json.Marshal(cfg.Tree())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String()+string(tree), "marker-4711") {
		t.Errorf("the password is shown:\n%s%s", &b, tree)
	}
	if cfg.Mail.SMTP.Password.Reveal() != "marker-4711" {
		t.Error("the password itself is gone")
	}
}

func TestOrigin(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", ":8080": "http://localhost:8080",
		"0.0.0.0:80": "http://localhost:80", "[::]:80": "http://localhost:80", "[::1]:80": "http://[::1]:80",
	} {
		cfg := Default()
		cfg.Server.Listen = listen
		if got := cfg.Origin(); got != want {
			t.Errorf("listen %s: origin %s, want %s", listen, got, want)
		}
	}
}

func TestDurationForms(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "90s": "1m30s", "1h": "1h", "24h": "1d", "36h": "36h",
		"400d": "400d", "15m": "15m", "1h30m": "1h30m", "10ms": "10ms",
	} {
		var d Duration
		if err := d.UnmarshalText([]byte(in)); err != nil || d.String() != want {
			t.Errorf("%q became %q (%v), want %q", in, d.String(), err, want)
		}
	}
	for _, in := range []string{"", "1", "-1s", "-1d", "1.5d", "99999d", "d", "1w"} {
		var d Duration
		if err := d.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q was accepted as %s", in, d)
		}
	}
}

func TestSizeForms(t *testing.T) {
	for in, want := range map[string]string{
		"0": "0", "512MiB": "512MiB", "1024MiB": "1GiB", "4 GiB": "4GiB",
		"1000000": "1MB", "1500B": "1500", "3kB": "3kB", "2048": "2KiB",
	} {
		var z Size
		if err := z.UnmarshalText([]byte(in)); err != nil || z.String() != want {
			t.Errorf("%q became %q (%v), want %q", in, z.String(), err, want)
		}
	}
	for _, in := range []string{"", "-1", "1.5GiB", "MiB", "9999999TiB", "1 gib"} {
		var z Size
		if err := z.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("%q was accepted as %s", in, z)
		}
	}
}

// FuzzConfigFile checks that any file results in a configuration or in faults, and that the printed configuration reads
// back the same.
func FuzzConfigFile(f *testing.F) {
	f.Add("[server]\nlisten = \":1\"\ntrusted_proxies = [\"::1\"]\n[newsletter]\npending_ttl = \"8d\"")
	f.Add("[mail]\nfrom = \"a\\u0007@example.org\"\ndirectory = \"\\u0001\\\"\\\\\"")
	f.Add("server.listen = \"a:1\"\nmail = {smtp = {port = 25}}")
	f.Fuzz(func(t *testing.T, text string) {
		r := newLoader()
		r.file("fuzz", text)
		r.check()
		if len(r.faults) > 0 {
			_ = r.faults.Error()
			return
		}
		var b bytes.Buffer
		if err := r.cfg.WriteTOML(&b); err != nil {
			t.Fatal(err)
		}
		again := newLoader()
		again.file("printed", b.String())
		again.check()
		if len(again.faults) > 0 {
			t.Fatalf("printed:\n%s\nfaults: %v", &b, again.faults)
		}
		again.cfg.From, again.cfg.Mail.SMTP.Password = r.cfg.From, r.cfg.Mail.SMTP.Password
		if !reflect.DeepEqual(again.cfg, r.cfg) {
			t.Fatalf("read back differs:\n%+v\n%+v", again.cfg, r.cfg)
		}
	})
}

func readText(t *testing.T, text string) *Config {
	t.Helper()
	cfg, err := Load(Sources{File: writeFile(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "newsletterd.toml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestLoadFindsTheInstallation checks the order of sources: the flag, the environment, this folder, then the paths of
// installations. If a database is named, only its own settings apply.
func TestLoadFindsTheInstallation(t *testing.T) {
	t.Chdir(t.TempDir())
	place := t.TempDir()
	database := "[database]\npath = \"/var/lib/newsletterd/n.db\"\n"
	write := func(path, listen string) string {
		if err := os.WriteFile(path, []byte("[server]\nlisten = \"127.0.0.1:"+listen+"\"\n"+database),
			0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	installed := []string{filepath.Join(place, "none.toml"), write(filepath.Join(place, "lib.toml"), "2")}
	named, byEnv := write(filepath.Join(place, "named.toml"), "3"), write(filepath.Join(place, "env.toml"), "4")
	load := func(src Sources) *Config {
		src.Installed = installed
		cfg, err := Load(src)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	env := []string{"NEWSLETTERD_CONFIG=" + byEnv}
	for name, c := range map[string]struct {
		src  Sources
		want string
	}{
		"installed":                   {Sources{}, installed[1]},
		"flag":                        {Sources{File: named, Env: env}, named},
		"environment":                 {Sources{Env: env}, byEnv},
		"database":                    {Sources{Flags: map[string]string{"database.path": "n.db"}}, ""},
		"database in the environment": {Sources{Env: []string{"NEWSLETTERD_DATABASE_PATH=n.db"}}, ""},
	} {
		if got := load(c.src).File; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if err := os.WriteFile("newsletterd.db", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := load(Sources{}).File; got != "" {
		t.Errorf("a database in this folder gets the settings of %q", got)
	}
	if err := os.Remove("newsletterd.db"); err != nil {
		t.Fatal(err)
	}
	database = ""
	if _, err := Load(Sources{Installed: []string{write(byEnv, "6")}}); err == nil ||
		!strings.Contains(err.Error(), "relative to the service's folder") {
		t.Errorf("a database of the installation is looked for in this folder: %v", err)
	}
	write("newsletterd.toml", "5")
	if got := load(Sources{}).File; got != DefaultFile {
		t.Errorf("this folder: %q", got)
	}
	if err := os.Remove("newsletterd.toml"); err != nil {
		t.Fatal(err)
	}
	installed = installed[:1]
	if got := load(Sources{}).Searched; len(got) != 2 || got[1] != installed[0] {
		t.Errorf("searched %q", got)
	}
	if _, err := Load(Sources{Env: []string{"NEWSLETTERD_CONFIG=" + installed[0]}}); err == nil {
		t.Error("a file that the environment names may be missing")
	}
}
