package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Keys used in these tests.
const (
	shownID     = "AKIDNEVERSHOWN"
	shownSecret = "never/shown+secret="
	shownToken  = "never-shown-session"
)

var signatureText = regexp.MustCompile(`(?i)signature=|[0-9a-f]{64}`)

// tellsSecrets returns the first secret found in a text, or an empty string.
func tellsSecrets(text string) string {
	for _, secret := range []string{shownID, shownSecret, url.QueryEscape(shownSecret), shownToken} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return signatureText.FindString(text)
}

func shownEnv(name string) string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": shownID, "AWS_SECRET_ACCESS_KEY": shownSecret, "AWS_SESSION_TOKEN": shownToken,
	}[name]
}

// echoes returns storages that respond with the request and the secret.
func echoes() map[string]http.HandlerFunc {
	asked := func(r *http.Request) string {
		var b bytes.Buffer
		_ = r.Header.Write(&b)
		return strings.ReplaceAll(b.String(), "\r\n", " ") + shownSecret + " " + url.QueryEscape(shownSecret) + " " +
			r.Header.Get("Authorization")
	}
	refuse := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%[1]s</Message><Region>%[1]s</Region></Error>",
				strings.ReplaceAll(asked(r), "&", ""))
		}
	}
	raw := func(text func(r *http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text(r))
			_ = c.Close()
		}
	}
	return map[string]http.HandlerFunc{
		"400": refuse(400), "403": refuse(403), "409": refuse(409), "500": refuse(500), "501": refuse(501),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/?"+url.QueryEscape(asked(r)))
			w.Header().Set("X-Amz-Bucket-Region", r.Header.Get("Authorization"))
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"no http":    raw(asked),
		"bad status": raw(func(r *http.Request) string { return "HTTP/1.1 " + asked(r) + "\r\n\r\n" }),
		"bad header": raw(func(r *http.Request) string {
			return "HTTP/1.1 200 OK\r\n" + r.Header.Get("Authorization") + "\r\n\r\n"
		}),
		"bad length": raw(func(r *http.Request) string {
			return "HTTP/1.1 200 OK\r\nContent-Length: " + r.Header.Get("Authorization") + "\r\n\r\n"
		}),
		"200": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", r.Header.Get("Authorization"))
			_, _ = io.WriteString(w, asked(r))
		},
	}
}

// failures returns the errors of all operations as text.
func failures(t *testing.T, b Bucket) (all []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	add := func(err error) {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	for _, cond := range []Condition{{}, {Absent: true}, {Match: "1"}} {
		_, err := b.Put(ctx, "key", []byte("1"), cond)
		add(err)
	}
	_, err := b.PutStream(ctx, "key", strings.NewReader(strings.Repeat("1", 3000)))
	add(err)
	_, err = b.Head(ctx, "key")
	add(err)
	if r, err := b.Get(ctx, "key", 0, 0); err == nil {
		_, err = io.ReadAll(r)
		add(errors.Join(err, r.Close()))
	} else {
		add(err)
	}
	for _, err := range b.List(ctx, "", "") {
		add(err)
	}
	add(b.Delete(ctx, "key", "other"))
	add(b.Remove(ctx, "key", "1"))
	add(Probe(ctx, b))
	return all
}

// TestErrorsTellNoSecrets checks that no error contains a key, a secret or a signature, whatever the storage responds.
func TestErrorsTellNoSecrets(t *testing.T) {
	t.Parallel()
	at := func(endpoint string) *s3 {
		t.Helper()
		b, err := Open("s3://bucket/path?region=a&endpoint="+endpoint, shownEnv)
		if err != nil {
			t.Fatal(err)
		}
		s := b.(*s3)
		s.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		s.partSize = 1 << 10
		t.Cleanup(s.client.CloseIdleConnections)
		return s
	}
	check := func(what string, b *s3) {
		t.Helper()
		all := failures(t, b)
		if len(all) < 5 {
			t.Errorf("%s: only %q", what, all)
		}
		for _, text := range all {
			if secret := tellsSecrets(text); secret != "" {
				t.Errorf("%s: %q is in: %s", what, secret, text)
			}
		}
	}
	for what, answer := range echoes() {
		server := httptest.NewServer(answer)
		check(what, at(server.URL))
		server.CloseClientConnections()
		server.Close()
	}
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	check("a certificate that is not trusted", at(untrusted.URL))
	untrusted.Close()
	check("no listener", at("https://127.0.0.1:1"))
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := plain.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "no TLS\r\n")
			_ = c.Close()
		}
	}()
	check("no TLS", at("https://"+plain.Addr().String()))
	_ = plain.Close()
}

// TestAddressesTellNoSecrets checks that a URL that contains keys is refused, and that the error doesn't show them.
func TestAddressesTellNoSecrets(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"s3://" + shownID + ":" + shownToken + "@bucket/path?region=a", "s3://" + shownID + "@bucket?region=a",
		"s3://" + shownID + ":" + shownToken + "/path", "s3://bucket?" + shownID + ":" + shownToken,
		"s3://bucket?region=a&" + shownToken + "=1", "s3://bucket?region=a&region=" + shownToken,
		"s3://bucket?region=a&endpoint=https://" + shownID + ":" + shownToken + "@127.0.0.1",
		"s3://bucket?region=a&endpoint=https://127.0.0.1/?" + shownToken, "file://" + shownID + ":" + shownToken + "@/path",
		"s3://bucket?region=" + shownToken + ":" + shownID, "s3://bucket?region=a#" + shownToken,
	} {
		_, err := Open(address, shownEnv)
		for _, err := range []error{err, CheckURL(address)} {
			if err == nil {
				t.Errorf("%s is taken", address)
			} else if secret := tellsSecrets(err.Error()); secret != "" {
				t.Errorf("%s: %q is in: %v", address, secret, err)
			}
		}
	}
}
