package report

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
)

const (
	testTopic   = "arn:aws:sns:eu-west-1:123456789012:bounces"
	testCertURL = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
)

// amazon simulates Amazon SNS with its own CA and signing certificate, and records fetches.
type amazon struct {
	testing.TB
	*SNS
	key     *rsa.PrivateKey
	fetched []string
	files   map[string][]byte
	fetches atomic.Int32
	issuer  string // issuer URL in later certificates; empty: none
}

func newAmazon(t testing.TB) *amazon {
	a := &amazon{TB: t, files: map[string][]byte{}}
	ca, caKey := a.certificate(nil, nil, true, time.Hour)
	leaf, key := a.certificate(ca, caKey, false, time.Hour)
	a.key = key
	a.files[testCertURL] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	a.SNS = &SNS{Roots: roots, Fetch: func(_ context.Context, url string) ([]byte, error) {
		a.fetches.Add(1)
		a.fetched = append(a.fetched, url)
		if b, ok := a.files[url]; ok {
			return b, nil
		}
		return nil, errors.New("404")
	}}
	return a
}

func (a *amazon) certificate(parent *x509.Certificate, parentKey *rsa.PrivateKey, isCA bool,
	life time.Duration,
) (*x509.Certificate, *rsa.PrivateKey) {
	a.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		a.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sns.amazonaws.com"},
		DNSNames:  []string{"sns.amazonaws.com"},
		NotBefore: hookNow.Time().Add(-time.Hour), NotAfter: hookNow.Time().Add(life), IsCA: isCA,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	template.Subject.SerialNumber = rand.Text() // all names are different
	if a.issuer != "" {
		template.IssuingCertificateURL = []string{a.issuer}
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		a.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return c, key
}

// message returns a signed request. change may modify the envelope before it is signed, and spoil afterwards.
func (a *amazon) message(version string, change, spoil func(e map[string]string)) *Request {
	a.Helper()
	e := map[string]string{
		"Type": "Notification", "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324", "TopicArn": testTopic,
		"Subject": "Amazon SES Email Event Notification",
		"Message": `{"eventType":"Bounce"}`, "Timestamp": "2026-11-20T10:29:00.000Z", "SignatureVersion": version,
		"SigningCertURL": testCertURL,
		"UnsubscribeURL": "https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe",
	}
	if change != nil {
		change(e)
	}
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if e["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	text := ""
	for _, n := range names {
		if v, ok := e[n]; ok {
			text += n + "\n" + v + "\n"
		}
	}
	var sig []byte
	var err error
	if version == "1" {
		sum := sha1.Sum([]byte(text))
		sig, err = rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA1, sum[:])
	} else {
		sum := sha256.Sum256([]byte(text))
		sig, err = rsa.SignPKCS1v15(rand.Reader, a.key, crypto.SHA256, sum[:])
	}
	if err != nil {
		a.Fatal(err)
	}
	e["Signature"] = base64.StdEncoding.EncodeToString(sig)
	if spoil != nil {
		spoil(e)
	}
	b, err := json.Marshal(e)
	if err != nil {
		a.Fatal(err)
	}
	return &Request{Header: map[string][]string{headerSNSType: {e["Type"]}}, Body: b, Now: hookNow}
}

func (a *amazon) hook() *Hook {
	return &Hook{
		Name: "ses", Kind: "ses", Topics: []string{"arn:aws:sns:eu-west-1:123456789012:other", testTopic},
		SNS: a.SNS,
	}
}

func set(key, value string) func(map[string]string) {
	return func(e map[string]string) { e[key] = value }
}

func TestSNSMessages(t *testing.T) {
	a := newAmazon(t)
	refused := core.ErrInvalidSignature
	for _, tc := range []struct {
		name          string
		version       string
		change, spoil func(map[string]string)
		want          *core.Error
	}{
		{"version 1", "1", nil, nil, nil},
		{"version 2", "2", nil, nil, nil},
		{"without a subject", "2", func(e map[string]string) { delete(e, "Subject") }, nil, nil},
		{"an empty subject", "2", set("Subject", ""), nil, nil},
		{"a subscription", "2", confirmation, nil, nil},
		{
			"the end of a subscription", "1",
			func(e map[string]string) { confirmation(e); e["Type"] = "UnsubscribeConfirmation" }, nil, nil,
		},
		{"version 3", "3", nil, nil, refused},
		{"version 1 said of version 2", "2", nil, set("SignatureVersion", "1"), refused},
		{"another message", "2", nil, set("Message", "{}"), refused},
		{"a subject put in", "2", func(e map[string]string) { delete(e, "Subject") }, set("Subject", "x"), refused},
		{
			"another topic than signed", "2", set("TopicArn", "arn:aws:sns:eu-west-1:1:x"), set("TopicArn", testTopic),
			refused,
		},
		{
			"a stranger's topic", "2", set("TopicArn", "arn:aws:sns:eu-west-1:999999999999:bounces"), nil,
			core.ErrForbidden,
		},
		{"an unknown type", "2", set("Type", "Other"), nil, refused},
		{"two hours old", "2", set("Timestamp", "2026-11-20T08:29:00.000Z"), nil, refused},
		{"ahead", "2", set("Timestamp", "2026-11-20T10:40:00.000Z"), nil, refused},
		{"no time", "2", set("Timestamp", "yesterday"), nil, refused},
		{"no signature", "2", nil, set("Signature", ""), refused},
		{"no base64", "2", nil, set("Signature", "!"), refused},
		{
			"another host", "2", nil, set("SigningCertURL", "https://sns.eu-west-1.amazonaws.com.evil.example/x.pem"),
			refused,
		},
		{"a bucket", "2", nil, set("SigningCertURL", "https://s3.eu-west-1.amazonaws.com/x.pem"), refused},
		{
			"a user in the address", "2", nil, set("SigningCertURL",
				"https://sns.eu-west-1.amazonaws.com@evil.example/x.pem"),
			refused,
		},
		{
			"a user before the host", "2", nil, set("SigningCertURL", "https://a:b@sns.eu-west-1.amazonaws.com/x.pem"),
			refused,
		},
		{"a port", "2", nil, set("SigningCertURL", "https://sns.eu-west-1.amazonaws.com:8443/x.pem"), refused},
		{"in clear", "2", nil, set("SigningCertURL", "http://sns.eu-west-1.amazonaws.com/x.pem"), refused},
		{
			"no certificate's name", "2", nil, set("SigningCertURL", "https://sns.eu-west-1.amazonaws.com/x.txt"),
			refused,
		},
		{"a query", "2", nil, set("SigningCertURL", "https://sns.eu-west-1.amazonaws.com/x.pem?a=b.pem"), refused},
		{"upper case", "2", nil, set("SigningCertURL", "https://sns.EU.amazonaws.com/x.pem"), refused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := a.hook().Verify(t.Context(), a.message(tc.version, tc.change, tc.spoil))
			if tc.want == nil && err != nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
	if len(a.fetched) != 1 || a.fetched[0] != testCertURL {
		t.Errorf("fetched: %v", a.fetched)
	}
	r := a.message("2", nil, nil)
	r.Header[headerSNSType] = []string{"SubscriptionConfirmation"}
	if err := a.hook().Verify(t.Context(), r); !errors.Is(err, refused) {
		t.Errorf("a header that says another type: %v", err)
	}
}

func confirmation(e map[string]string) {
	e["Type"], e["Token"], e["Message"] = "SubscriptionConfirmation", "2336412f37", "You have chosen to subscribe"
	e["SubscribeURL"] = "https://evil.example/?Action=ConfirmSubscription"
	delete(e, "Subject")
}

// TestSNSConfirmation checks that a subscription is confirmed at a URL that we build, regardless of the message.
func TestSNSConfirmation(t *testing.T) {
	a := newAmazon(t)
	const want = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37&TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A123456789012%3Abounces"
	r := a.message("1", confirmation, nil)
	if err := a.hook().Verify(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := a.hook().Confirm(t.Context(), r); core.KindOf(err) != core.Unavailable {
		t.Errorf("Amazon does not answer: %v", err)
	}
	a.files[want] = []byte("<ConfirmSubscriptionResponse/>")
	a.fetched = nil
	if err := a.hook().Confirm(t.Context(), r); err != nil || len(a.fetched) != 1 || a.fetched[0] != want {
		t.Errorf("%v, fetched %v", err, a.fetched)
	}
	a.fetched = nil
	for _, change := range []func(map[string]string){
		nil,
		func(e map[string]string) { confirmation(e); e["Type"] = "UnsubscribeConfirmation" },
	} {
		if err := a.hook().Confirm(t.Context(), a.message("1", change, nil)); err != nil || a.fetched != nil {
			t.Errorf("%v, fetched %v", err, a.fetched)
		}
	}
	odd := a.message("1",
		func(e map[string]string) { confirmation(e); e["TopicArn"] = "arn:aws:sns:evil.example/:1:x" }, nil)
	if err := a.hook().Confirm(t.Context(), odd); core.KindOf(err) != core.Invalid || a.fetched != nil {
		t.Errorf("an odd topic: %v, fetched %v", err, a.fetched)
	}
	china := a.message("1", func(e map[string]string) {
		confirmation(e)
		e["TopicArn"] = "arn:aws-cn:sns:cn-north-1:123456789012:b"
	}, nil)
	_ = a.hook().Confirm(t.Context(), china)
	if len(a.fetched) != 1 || !strings.HasPrefix(a.fetched[0], "https://sns.cn-north-1.amazonaws.com.cn/?") {
		t.Errorf("fetched %v", a.fetched)
	}
}

func TestSNSCertificates(t *testing.T) {
	a := newAmazon(t)
	otherCA, otherKey := a.certificate(nil, nil, true, time.Hour)
	stranger, _ := a.certificate(otherCA, otherKey, false, time.Hour)
	for name, file := range map[string][]byte{
		"of another CA": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: stranger.Raw}),
		"none":          []byte("<html>"),
		"broken":        []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "empty": nil,
	} {
		at := "https://sns.eu-west-1.amazonaws.com/" + strings.ReplaceAll(name, " ", "-") + ".pem"
		a.files[at] = file
		if err := a.hook().Verify(t.Context(), a.message("2", nil, set("SigningCertURL", at))); !errors.Is(err,
			core.ErrInvalidSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := "https://sns.eu-west-1.amazonaws.com/missing.pem"
	before := a.fetches.Load()
	for range 3 {
		if err := a.hook().Verify(t.Context(),
			a.message("2", nil, set("SigningCertURL", missing))); core.KindOf(err) != core.Unavailable {
			t.Errorf("a certificate that can't be had: %v", err)
		}
	}
	if n := a.fetches.Load() - before; n != 1 {
		t.Errorf("a failure was fetched %d times", n)
	}
	late := a.message("2", set("Timestamp", "2026-11-20T12:29:00.000Z"), nil)
	late.Now = hookNow.Add(2 * time.Hour)
	a.SNS.certs = nil
	if err := a.hook().Verify(t.Context(), late); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("a certificate that has expired: %v", err)
	}
}

// TestSNSCertificateWithoutChain checks that a certificate without its chain is trusted only if its issuer leads to a
// root. The connection that it was fetched over doesn't count.
func TestSNSCertificateWithoutChain(t *testing.T) {
	a := newAmazon(t)
	ca, caKey := a.certificate(nil, nil, true, time.Hour)
	between, betweenKey := a.certificate(ca, caKey, true, time.Hour)
	const issuerURL = "http://crt.r2m01.amazontrust.com/r2m01.cer"
	a.issuer = issuerURL
	leaf, key := a.certificate(between, betweenKey, false, time.Hour)
	a.issuer = ""
	orphan, orphanKey := a.certificate(between, betweenKey, false, time.Hour)
	self, selfKey := a.certificate(nil, nil, true, time.Hour)
	a.Roots = x509.NewCertPool()
	a.Roots.AddCert(ca)
	verify := func(c *x509.Certificate, k *rsa.PrivateKey) error {
		a.SNS.certs, a.key = nil, k
		a.files[testCertURL] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
		return a.hook().Verify(t.Context(), a.message("2", nil, nil))
	}
	if err := verify(leaf, key); core.KindOf(err) != core.Unavailable {
		t.Errorf("the issuer can't be fetched: %v", err)
	}
	a.files[issuerURL] = between.Raw
	if err := verify(leaf, key); err != nil {
		t.Errorf("by way of its issuer: %v", err)
	}
	a.files[issuerURL] = self.Raw
	if err := verify(leaf, key); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("by way of another's: %v", err)
	}
	if err := verify(orphan, orphanKey); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("without a word of its issuer: %v", err)
	}
	if err := verify(self, selfKey); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("signed by itself: %v", err)
	}
	a.Roots.AddCert(self)
	if err := verify(self, selfKey); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("a root: %v", err)
	}
	a.Roots = nil // the system's
	if err := verify(self, selfKey); !errors.Is(err, core.ErrInvalidSignature) {
		t.Errorf("signed by itself, with the roots of the system: %v", err)
	}
}

// TestSNSHosts checks that certificates are fetched only from hosts named after a region, not from an S3 bucket.
func TestSNSHosts(t *testing.T) {
	for host, want := range map[string]bool{
		"sns.eu-west-1.amazonaws.com": true, "sns.us-gov-west-1.amazonaws.com": true,
		"sns.cn-north-1.amazonaws.com.cn":  true,
		"sns.ap-southeast-5.amazonaws.com": true, "sns.mx-central-1.amazonaws.com": true,
		"sns.s3.amazonaws.com": false, "sns.s3-eu-west-1.amazonaws.com": false,
		"sns.s3-website-eu-west-1.amazonaws.com": false,
		"sns.s3-accelerate.amazonaws.com":        false, "sns.execute-api.amazonaws.com": false,
		"sns.amazonaws.com":                    false,
		"sns.eu.amazonaws.com":                 false,
		"sns.eu-west-1.amazonaws.com.evil.org": false, "sns.eu-west-1.amazonaws.com:8443": false,
		"s3.eu-west-1.amazonaws.com": false,
	} {
		if got := snsCertURL("https://" + host + "/a.pem"); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
	if snsARN.MatchString("arn:aws:sns:s3:123456789012:bounces") {
		t.Error("a topic of the region s3")
	}
}

// TestSNSReplayHasTheSameKeys checks that a replayed message has the same keys as the first, one for each address.
func TestSNSReplayHasTheSameKeys(t *testing.T) {
	a := newAmazon(t)
	message := `{"eventType":"Bounce","bounce":{"bounceType":"Permanent","bouncedRecipients":[{"emailAddress":"a@x.org"},{"emailAddress":"b@x.org"}]},"mail":{"messageId":"m"}}`
	k := KindOf("ses")
	var keys [2][]string
	for i := range keys {
		reports, err := k.Reports(a.message("2", set("Message", message), nil))
		if err != nil || len(reports) != 2 {
			t.Fatal(reports, err)
		}
		for _, r := range reports {
			keys[i] = append(keys[i], string(r.Key))
		}
	}
	if keys[0][0] != keys[1][0] || keys[0][1] != keys[1][1] || keys[0][0] == keys[0][1] {
		t.Errorf("%x", keys)
	}
}
