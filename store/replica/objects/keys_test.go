package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/store/replica/objectstest"
)

// giver issues keys for the test storage like the services of a cloud, each time with a new id.
type giver struct {
	server *httptest.Server
	secret string
	token  atomic.Value // token that a workload must present
	given  atomic.Int64
	broken atomic.Bool
	ends   atomic.Int64 // validity of issued keys in seconds
}

func newGiver(t *testing.T) *giver {
	g := &giver{secret: objectstest.Env("x")(EnvSecretKey)}
	g.token.Store("token-1")
	g.ends.Store(3600)
	g.server = httptest.NewServer(http.HandlerFunc(g.answer))
	t.Cleanup(g.server.Close)
	return g
}

func (g *giver) answer(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>%s</Message></Error></ErrorResponse>",
			g.secret)
	}
	if g.broken.Load() {
		refuse(http.StatusInternalServerError)
		return
	}
	keys := func() (id, ends string) {
		return fmt.Sprintf("role-%d", g.given.Add(1)),
			time.Now().Add(time.Duration(g.ends.Load()) * time.Second).UTC().Format(time.RFC3339)
	}
	const roles = "/latest/meta-data/iam/security-credentials/"
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		fmt.Fprint(w, "metadata-token")
	case strings.HasPrefix(r.URL.Path, roles) && r.Header.Get("X-Aws-Ec2-Metadata-Token") != "metadata-token":
		refuse(http.StatusUnauthorized)
	case r.URL.Path == roles:
		fmt.Fprint(w, "backup role\n")
	case r.URL.Path == roles+"backup role":
		id, ends := keys()
		_ = json.NewEncoder(w).Encode(map[string]string{
			"Code": "Success", "AccessKeyId": id, "SecretAccessKey": g.secret, "Token": "session", "Expiration": ends,
		})
	case r.Method == http.MethodPost && r.FormValue("Action") == "AssumeRoleWithWebIdentity" &&
		r.FormValue("Version") == "2011-06-15" && r.FormValue("RoleArn") == "arn:aws:iam::1:role/backup" &&
		r.FormValue("RoleSessionName") == "newsletterd" && r.FormValue("WebIdentityToken") == g.token.Load():
		id, ends := keys()
		fmt.Fprintf(w, `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
			<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey>
			<SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
			</AssumeRoleWithWebIdentityResponse>`, id, g.secret, ends)
	default:
		refuse(http.StatusForbidden)
	}
}

// each runs the test with a bucket for each kind of role.
func (g *giver) each(t *testing.T, test func(t *testing.T, b *s3)) {
	file := filepath.Join(t.TempDir(), "token")
	for name, c := range map[string]struct{ env, query string }{
		"instance": {"AWS_EC2_METADATA_SERVICE_ENDPOINT=" + g.server.URL, "&keys=instance"},
		"web identity": {"AWS_ENDPOINT_URL_STS=" + g.server.URL + " AWS_ROLE_ARN=arn:aws:iam::1:role/backup " +
			"AWS_WEB_IDENTITY_TOKEN_FILE=" + file, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g.given.Store(0)
			g.broken.Store(false)
			g.ends.Store(3600)
			g.show(t, file, "token-1")
			b, err := Open(objectstest.New(t).URL()+c.query, environ(strings.Fields(c.env)...))
			if err != nil {
				t.Fatal(err)
			}
			test(t, b.(*s3))
		})
	}
}

func (g *giver) show(t *testing.T, file, token string) {
	g.token.Store(token)
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKeysOfARole checks that the keys of a role are requested once, renewed before they expire, and used while the
// renewal fails.
func TestKeysOfARole(t *testing.T) {
	g := newGiver(t)
	g.each(t, func(t *testing.T, b *s3) {
		put := func(off time.Duration, asked int64) {
			t.Helper()
			_, err := b.keys.get(t.Context(), time.Now().Add(off))
			if err != nil || g.given.Load() != asked {
				t.Fatalf("%v later: %v, asked %d times, want %d", off, err, g.given.Load(), asked)
			}
			if _, err := b.Put(t.Context(), "a", []byte("text"), Condition{}); err != nil || b.keys.held.session == "" {
				t.Fatalf("%v later: %v", off, err)
			}
		}
		put(0, 1)
		put(54*time.Minute, 1)
		put(56*time.Minute, 2)
		g.broken.Store(true)
		put(57*time.Minute, 2)
		if _, err := b.keys.get(t.Context(), time.Now().Add(2*time.Hour)); err == nil ||
			!strings.Contains(err.Error(), "response 500") || strings.Contains(err.Error(), g.secret) {
			t.Errorf("over, and none to be had: %v", err)
		}
		g.broken.Store(false)
		put(0, 2)
		if !b.keys.forget() {
			t.Error("they could be asked for again")
		}
		put(0, 3)
	})
}

// TestKeysThatEndSoon checks that keys that expire soon are renewed at intervals, and that expired keys are rejected.
func TestKeysThatEndSoon(t *testing.T) {
	g := newGiver(t)
	g.each(t, func(t *testing.T, b *s3) {
		g.ends.Store(120)
		for range 3 {
			if _, err := b.keys.get(t.Context(), time.Now()); err != nil || g.given.Load() != 1 {
				t.Fatalf("%v, asked %d times", err, g.given.Load())
			}
		}
		if _, err := b.keys.get(t.Context(), time.Now().Add(time.Minute)); err != nil || g.given.Load() != 2 {
			t.Errorf("%v, asked %d times", err, g.given.Load())
		}
		g.ends.Store(-1)
		b.keys.forget()
		if _, err := b.keys.get(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "expired at") {
			t.Errorf("keys of yesterday: %v", err)
		}
	})
}

// TestRolesThatAreRefused checks that errors name the service that issues no keys and the code of the refusal, but
// contain no secret.
func TestRolesThatAreRefused(t *testing.T) {
	g := newGiver(t)
	g.each(t, func(t *testing.T, b *s3) {
		b.wait = func(context.Context, time.Duration) error { return nil }
		g.broken.Store(true)
		_, err := b.Head(t.Context(), "a")
		if err == nil || !strings.Contains(err.Error(), "storage credentials: ") ||
			!strings.Contains(err.Error(), "response 500 AccessDenied") || strings.Contains(err.Error(), g.secret) {
			t.Errorf("%v", err)
		}
	})
	for env, want := range map[string]string{
		"AWS_WEB_IDENTITY_TOKEN_FILE=/no/such/file":                           "AWS_ROLE_ARN is missing",
		"AWS_WEB_IDENTITY_TOKEN_FILE=f AWS_ROLE_ARN=a AWS_ENDPOINT_URL_STS=h": "AWS_ENDPOINT_URL_STS must start with https://",
	} {
		if _, err := Open("s3://bucket?region=eu-1", environ(strings.Fields(env)...)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", env, err, want)
		}
	}
	if _, err := Open("s3://bucket?region=eu-1&keys=instance",
		environ("AWS_EC2_METADATA_SERVICE_ENDPOINT=http://192.0.2.1")); err == nil {
		t.Error("a token for keys may go to any machine")
	}
	b, err := Open("s3://bucket?endpoint=http://127.0.0.1:1",
		environ("AWS_ROLE_ARN=a", "AWS_WEB_IDENTITY_TOKEN_FILE=/no/such/file"))
	if err != nil {
		t.Fatal(err)
	}
	b.(*s3).wait = func(context.Context, time.Duration) error { return nil }
	if _, err := b.Head(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "/no/such/file") {
		t.Errorf("no token: %v", err)
	}
}

// TestExpiredKeysAreReplaced checks that new keys are requested immediately if the storage considers the current ones
// expired.
func TestExpiredKeysAreReplaced(t *testing.T) {
	g := newGiver(t)
	g.each(t, func(t *testing.T, b *s3) {
		b.wait = func(context.Context, time.Duration) error { return nil }
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.Header.Get("Authorization"), "Credential=role-1/") {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, "<Error><Code>ExpiredToken</Code></Error>")
				return
			}
			w.Header().Set("ETag", `"e"`)
		}))
		defer server.Close()
		b.host = strings.TrimPrefix(server.URL, "http://")
		if _, err := b.Put(t.Context(), "a", nil, Condition{}); err != nil || g.given.Load() != 2 {
			t.Errorf("%v after %d", err, g.given.Load())
		}
	})
}
