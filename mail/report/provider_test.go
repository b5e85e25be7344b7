package report

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files")

var hookNow = core.At(time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC))

// blocks reads a file in testdata: a header, then blocks of a title and a text.
func blocks(t testing.TB, name string) (head string, titles, texts []string) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(file), "\n== ")
	for block := range strings.SplitSeq(rest, "\n== ") {
		title, text, _ := strings.Cut(block, "\n")
		titles, texts = append(titles, title), append(texts, text)
	}
	return head, titles, texts
}

// bodyOf returns the body of a request with a payload. For ses, the payload is in an envelope.
func bodyOf(kind, payload string) []byte {
	if kind != "ses" {
		return []byte(payload)
	}
	b, _ := json.Marshal(map[string]string{"Type": "Notification", "MessageId": "sns-1", "Message": payload})
	return b
}

// TestProviderPayloads compares the reports of each provider's payloads with the golden file. The flag -update rewrites
// the file; check the difference.
func TestProviderPayloads(t *testing.T) {
	for _, k := range kinds {
		if k.parse == nil {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			head, titles, texts := blocks(t, "providers/"+k.Name+".txt")
			keys := map[string]string{}
			golden := strings.TrimRight(head, "\n") + "\n"
			for i, text := range texts {
				body, want, _ := strings.Cut(text, "\n->")
				body, want = strings.TrimSpace(body), strings.TrimSpace(want)
				header := map[string][]string{headerSvixID: {"msg_" + strconv.Itoa(i)}}
				request := &Request{Body: bodyOf(k.Name, body), Now: hookNow, Header: header}
				reports, err := k.Reports(request)
				var lines []string
				for _, r := range reports {
					e := r.Event
					line := fmt.Sprintf("%s %s of %s at %s", e.Type, e.Email, e.MessageID, e.OccurredAt)
					if e.BounceType != "" {
						line += ", " + e.BounceType
					}
					for _, n := range r.Names {
						if n != "" {
							line += ", named " + n
						}
					}
					if r.Unsubscribe {
						line += ", has left"
					}
					if r.ByMachine {
						line += ", by a machine"
					}
					if r.Sender {
						line += ", the sender's fault"
					}
					lines = append(lines, line)
				}
				got := cmp.Or(strings.Join(lines, "\n"), "nothing")
				if err != nil {
					got = "error: " + core.KindOf(err).String()
				}
				if request.Malformed > 0 {
					got += fmt.Sprintf(", %d malformed", request.Malformed)
				}
				golden += "\n== " + titles[i] + "\n" + body + "\n-> " + got + "\n"
				if !*update && got != want {
					t.Errorf("%s: %s, want %s", titles[i], got, want)
				}
				for _, r := range reports {
					if was, ok := keys[string(r.Key)]; ok && k.Name != "ses" {
						t.Errorf("%s has the key of %s", titles[i], was)
					}
					keys[string(r.Key)] = titles[i]
				}
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", "providers", k.Name+".txt"), []byte(golden), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// tampered returns invalid variants of a valid request.
func tampered(r *Request) map[string]*Request {
	late := *r
	late.Now = r.Now.Add(24 * time.Hour)
	early := *r
	early.Now = r.Now.Add(-time.Hour)
	bare := *r
	bare.Header = map[string][]string{}
	twice := *r
	twice.Header = map[string][]string{}
	for k, v := range r.Header {
		twice.Header[k] = append(append([]string{}, v...), v...)
	}
	other := *r
	other.Body = append(bytes.Clone(r.Body), ' ')
	return map[string]*Request{
		"late": &late, "early": &early, "without headers": &bare, "headers twice": &twice, "another body": &other,
	}
}

func TestProviderSignatures(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	spki, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	const webhookSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	key, _ := webhookKey(webhookSecret)
	stamp := strconv.FormatInt(hookNow.Time().Unix(), 10)
	body := []byte(`{"a": 1}`)
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("hook:correct horse"))
	sum := sha256.Sum256([]byte(stamp + string(body)))
	ec, err := ecdsa.SignASN1(rand.Reader, private, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	gunMAC := hex.EncodeToString(hmacSHA256([]byte("signing-key"), []byte(stamp+"token")))
	gunBody := `{"signature": {"timestamp": "` + stamp + `", "token": "token", "signature": "` + gunMAC +
		`"}, "event-data": {}}`
	svix := base64.StdEncoding.EncodeToString(hmacSHA256(key, []byte("msg_1."+stamp+"."), body))
	generic := hex.EncodeToString(hmacSHA256(key, []byte(stamp+"."), body))
	tested := map[string]bool{"ses": true} // sns_test.go
	for _, tc := range []struct {
		kind, secret, other string
		header              map[string]string
		body                []byte
		harmless            string // variants that this kind can't detect
	}{
		{"generic", webhookSecret, "whsec_" + strings.Repeat("A", 43) + "=", map[string]string{
			HeaderSignature: "t=" + stamp + ",v1=" + strings.Repeat("0", 64) + ",v1=" + generic,
		}, body, ""},
		{
			"postmark", "hook:correct horse", "hook:wrong horse",
			map[string]string{"Authorization": basic},
			body,
			"late early another body",
		},
		{
			"mailjet", "hook:correct horse", "hook:wrong horse",
			map[string]string{"Authorization": basic},
			body,
			"late early another body",
		},
		{"sendgrid", base64.StdEncoding.EncodeToString(spki), "AAAA", map[string]string{
			headerSendGridSignature: base64.StdEncoding.EncodeToString(ec), headerSendGridTimestamp: stamp,
		}, body, ""},
		{"mailgun", "signing-key", "another-key", nil, []byte(gunBody), "without headers headers twice another body"},
		{"resend", webhookSecret, "whsec_" + strings.Repeat("A", 43) + "=", map[string]string{
			headerSvixID: "msg_1", headerSvixTimestamp: stamp, headerSvixSignature: "v1,AAAA v2,x v1," + svix,
		}, body, ""},
	} {
		tested[tc.kind] = true
		t.Run(tc.kind, func(t *testing.T) {
			if err := KindOf(tc.kind).CheckSecrets([]string{tc.secret}); err != nil {
				t.Error(err)
			}
			r := &Request{Header: map[string][]string{}, Body: tc.body, Now: hookNow}
			for k, v := range tc.header {
				r.Header[k] = []string{v}
			}
			hook := &Hook{Name: "x", Kind: tc.kind, Secrets: []string{tc.other, tc.secret}}
			if err := hook.Verify(t.Context(), r); err != nil {
				t.Errorf("by the second secret: %v", err)
			}
			hook.Secrets = hook.Secrets[1:]
			for what, bad := range tampered(r) {
				err := hook.Verify(t.Context(), bad)
				if !errors.Is(err, core.ErrInvalidSignature) && !strings.Contains(tc.harmless, what) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, secrets := range [][]string{nil, {tc.other}, {""}} {
				hook.Secrets = secrets
				if err := hook.Verify(t.Context(), r); !errors.Is(err, core.ErrInvalidSignature) {
					t.Errorf("secrets %q: %v", secrets, err)
				}
			}
		})
	}
	for _, name := range Names() {
		if !tested[name] {
			t.Errorf("no case for %s", name)
		}
	}
}

func TestProviderSecretsHaveForms(t *testing.T) {
	for _, k := range kinds {
		if k.Secret.Check == nil {
			if k.CheckSecrets(nil) != nil || k.CheckSecrets([]string{"x"}) == nil {
				t.Errorf("%s has no secret", k.Name)
			}
		} else if k.CheckSecrets(nil) == nil || k.CheckSecrets([]string{""}) == nil {
			t.Errorf("%s does without a secret", k.Name)
		}
		if k.Secret.Fresh != nil {
			if err := k.CheckSecrets([]string{k.Secret.Fresh()}); err != nil {
				t.Errorf("%s: its own secret: %v", k.Name, err)
			}
		}
		if k.Topics != (k.CheckTopics(nil) != nil) || k.Topics != (k.CheckTopics([]string{"arn"}) == nil) {
			t.Errorf("%s: topics", k.Name)
		}
	}
}

// FuzzProviders checks that reports of any body can be stored.
func FuzzProviders(f *testing.F) {
	for _, k := range kinds {
		if k.parse == nil {
			continue
		}
		_, _, texts := blocks(f, "providers/"+k.Name+".txt")
		for _, text := range texts {
			body, _, _ := strings.Cut(text, "\n->")
			f.Add(bodyOf(k.Name, strings.TrimSpace(body)))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &Request{Header: map[string][]string{headerSNSType: {"Notification"}}, Body: body, Now: hookNow}
		for _, k := range kinds {
			secrets := []string{"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
			hook := &Hook{Kind: k.Name, SNS: &SNS{}, Secrets: secrets}
			if k.Name != "ses" && hook.Verify(t.Context(), r) == nil {
				t.Errorf("%s took it for proved", k.Name)
			}
			if k.parse == nil {
				continue
			}
			reports, _ := k.Reports(r)
			for _, p := range reports {
				if p.Event.OccurredAt <= 0 || len(p.Key) != 16 || len(p.Event.MessageID) > 998 ||
					p.Event.Effect() == "" && !p.Unsubscribe {
					t.Errorf("%s: %+v", k.Name, p)
				}
			}
		}
	})
}

func TestQueueID(t *testing.T) {
	const id = "0100018f12345678-0a1b2c3d-4e5f-6789-abcd-0123456789ab-000000"
	for text, want := range map[string]string{
		"Ok " + id: id, id: "", "Ok": "", "Ok short": "", "Ok: queued as " + id: "", "Ok " + id + " and more": "",
		"Ok <" + id + "@x>": "",
	} {
		if got := QueueID("ses", text); got != want {
			t.Errorf("%q: %q", text, got)
		}
		if got := QueueID("", text); got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
}
