package objects

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"

	"newsletterd/store/replica/objectstest"
)

// environ returns a lookup function for variables given as NAME=VALUE.
func environ(all ...string) func(string) string {
	return func(name string) string {
		for _, e := range all {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestAddresses(t *testing.T) {
	env := environ("AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_REGION=eu-9")
	for address, want := range map[string]string{
		"s3://bucket":                            "https://bucket.s3.eu-9.amazonaws.com/ eu-9 ",
		"s3://bucket/":                           "https://bucket.s3.eu-9.amazonaws.com/ eu-9 ",
		"s3://bucket/a/b/?region=eu-1":           "https://bucket.s3.eu-1.amazonaws.com/ eu-1 a/b/",
		"s3://my.bucket":                         "https://s3.eu-9.amazonaws.com/my.bucket/ eu-9 ",
		"s3://bucket/a?path-style=true":          "https://s3.eu-9.amazonaws.com/bucket/ eu-9 a/",
		"s3://bucket?endpoint=https://e.org":     "https://e.org/bucket/ eu-9 ",
		"s3://bucket?endpoint=https://e.org/":    "https://e.org/bucket/ eu-9 ",
		"s3://bucket?endpoint=https://e.org:443": "https://e.org/bucket/ eu-9 ",
		"s3://bucket?endpoint=https%3A%2F%2Fe.org%3A8443&path-style=false": "https://bucket.e.org:8443/ eu-9 ",
		"s3://bucket?endpoint=http://127.0.0.1:9000":                       "http://127.0.0.1:9000/bucket/ eu-9 ",
		"s3://bucket?endpoint=http://[::1]:9000":                           "http://[::1]:9000/bucket/ eu-9 ",
		"s3://bucket?endpoint=http://localhost:9000":                       "http://localhost:9000/bucket/ eu-9 ",
	} {
		opened, err := Open(address, env)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		b := opened.(*s3)
		if got := b.scheme + "://" + b.host + b.path + " " + b.signer.region + " " + b.prefix; got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	opened, err := Open("s3://bucket?endpoint=https://e.org", environ("AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=s"))
	if err != nil || opened.(*s3).signer.region != "us-east-1" {
		t.Errorf("without a region: %v", err)
	}
}

// TestAddressesThatAreRefused checks that errors name the problem in a URL and contain no part that may be a secret.
func TestAddressesThatAreRefused(t *testing.T) {
	env := environ("AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=hunter2")
	for address, want := range map[string]string{
		"":                          "must start with s3:// or file:///",
		"hunter2":                   "must start with s3:// or file:///",
		"https://bucket/?k=hunter2": "must start with s3:// or file:///",
		"s3:bucket":                 "is not a replica address",
		"s3://bucket/\x7fhunter2":   "is not a replica address",
		"s3://id:hunter2@bucket/": "contains credentials. Set them in the " +
			"environment",
		"s3://id:hunter2%@bucket/": "is not a replica address",
		"s3://bucket#hunter2":      "is not a replica address",
		"s3://b":                   `"b" is not a bucket name`,
		"s3://a..b":                "is not a bucket name",
		"s3://bucket:80":           "is not a bucket name",
		"s3:///path":               `"" is not a bucket name`,
		"s3://bucket/a/../b":       "the path can't be used",
		"s3://bucket":              "needs the region of the bucket",
		"s3://bucket?region=a.b":   "needs the region of the bucket",
		"s3://bucket?secret=hunter2": `"secret" is unknown. Use ` +
			`endpoint, region, path-style or keys=instance`,
		"s3://bucket?region=a&region=b":                     "region is set twice",
		"s3://bucket?region=%zzhunter2":                     "must be NAME=VALUE",
		"s3://bucket?region=a&path-style=1":                 "path-style must be true or false",
		"s3://bucket?region=a&keys=hunter2":                 "keys must be instance",
		"s3://bucket?endpoint=e.org":                        "endpoint must only have a scheme and a host",
		"s3://bucket?endpoint=ftp://e.org":                  "endpoint must only have a scheme and a host",
		"s3://bucket?endpoint=https://e.org/p":              "endpoint must only have a scheme and a host",
		"s3://bucket?endpoint=https://e.org?q":              "endpoint must only have a scheme and a host",
		"s3://bucket?endpoint=https://a:b@e.org":            "endpoint must only have a scheme and a host",
		"s3://bucket?endpoint=http://e.org":                 "endpoint must start with https://",
		"s3://bucket?endpoint=http://10.0.0.1":              "endpoint must start with https://",
		"s3://bucket?endpoint=http://127.0.0.1.example.org": "endpoint must start with https://",
		"file://host/path":                                  "must be an absolute path",
		"file:///path?region=a":                             "must be an absolute path",
		"file://":                                           "must be an absolute path",
		"file:///no/such/folder":                            "the folder /no/such/folder doesn't exist. Mount",
	} {
		_, err := Open(address, env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is in: %v", err)
		}
	}
}

func TestKeysOfTheEnvironment(t *testing.T) {
	const ours, theirs = "NEWSLETTERD_REPLICA_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"
	const ourSecret, theirSecret = "NEWSLETTERD_REPLICA_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"
	for _, c := range []struct {
		env  []string
		want credentials
		err  string
	}{
		{
			[]string{ours + "=a", ourSecret + "=b", theirs + "=c", theirSecret + "=d", "AWS_SESSION_TOKEN=e"},
			credentials{id: "a", secret: "b"},
			"",
		},
		{
			[]string{theirs + "=c", theirSecret + "=d", "AWS_SESSION_TOKEN=e"},
			credentials{id: "c", secret: "d", session: "e"},
			"",
		},
		{nil, credentials{}, ours + " and " + ourSecret + " are missing in the environment"},
		{
			[]string{ours + "=a", theirs + "=c", theirSecret + "=d"},
			credentials{},
			ourSecret + " is missing, but " + ours + " is set",
		},
		{[]string{theirSecret + "=d"}, credentials{}, theirs + " is missing, but " + theirSecret + " is set"},
		{[]string{ours + "=a", ourSecret + "=hunter2\n"}, credentials{}, "contains spaces or line breaks"},
	} {
		ring, err := ringFrom(environ(c.env...), "eu-1", false)
		if c.err == "" && (err != nil || ring.held != c.want) || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %v, %v", c.env, ring, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a secret is in: %v", err)
		}
	}
}

// TestHTTPStaysOnThisMachine checks that a host name for loopback is used only if it resolves to loopback.
func TestHTTPStaysOnThisMachine(t *testing.T) {
	tr := transport("http")
	if _, err := tr.DialContext(t.Context(), "tcp", "192.0.2.1:80"); err == nil ||
		!strings.Contains(err.Error(), "http is only allowed for localhost") {
		t.Errorf("%v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := tr.DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func FuzzOpen(f *testing.F) {
	for _, s := range []string{
		"s3://bucket/path?endpoint=https://e.org&region=a&path-style=true", "s3://b.c/%2e%2e/x", "file:///abs", "s3://a@b",
	} {
		f.Add(s, "key/é +%")
	}
	env := objectstest.Env("a")
	f.Fuzz(func(t *testing.T, address, key string) {
		if u, err := url.Parse(address); err == nil && u.Scheme == "file" {
			return // would access folders of this machine
		}
		opened, err := Open(address, env)
		if err != nil || checkKey(key) != nil {
			return
		}
		b := opened.(*s3)
		if b.scheme != "https" && !loopback((&url.URL{Host: b.host}).Hostname()) {
			t.Fatalf("%q leads to %s without TLS", address, b.host)
		}
		req, err := b.build(t.Context(), &request{method: "PUT", key: key, body: []byte("1")}, b.keys.held, &payload{})
		if err != nil {
			return // has no host
		}
		if got, err := url.PathUnescape(req.URL.EscapedPath()); err != nil || got != b.path+b.prefix+key ||
			req.URL.EscapedPath() != escape(got, true) {
			t.Fatalf("%q, key %q: %q, %v", address, key, req.URL.EscapedPath(), err)
		}
	})
}
