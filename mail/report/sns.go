package report

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // SNS signature version 1 uses it
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
)

// The types of SNS messages, and limits for verifying them.
const (
	snsNotification   = "Notification"
	snsSubscribe      = "SubscriptionConfirmation"
	snsUnsubscribe    = "UnsubscribeConfirmation"
	headerSNSType     = "X-Amz-Sns-Message-Type"
	snsCertificateTTL = 24 * time.Hour
	snsFailureTTL     = time.Minute
	snsFetchTimeout   = 5 * time.Second
	maxSNSCerts       = 32
	maxSNSFetches     = 4
	maxSNSIssuers     = 2 // maximum number of issuers fetched per certificate
)

// SNS verifies Amazon SNS messages and caches certificates. Its fields must not change after the first use. It is safe
// for concurrent use.
type SNS struct {
	// Fetch sends a GET request to an https URL, to get a certificate or to confirm a subscription. The URL belongs to
	// Amazon or, for an issuer's certificate, comes from the signer's certificate. Fetch must not follow redirects, and
	// must return an error for any status but 200.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Roots are the trusted root certificates; nil: the system's.
	Roots *x509.CertPool

	mu      sync.Mutex
	certs   map[string]*snsCert
	fetches int // fetches in progress
}

// snsCert is a cached certificate, or the failure to fetch it, with its expiry. The other fields are valid once ready
// is closed.
type snsCert struct {
	ready chan struct{}
	key   *rsa.PublicKey
	err   error
	until core.Instant
}

// fresh reports whether c can be used without fetching it again.
func (c *snsCert) fresh(now core.Instant) bool {
	select {
	case <-c.ready:
		return c.until > now
	default:
		return true // a fetch is in progress
	}
}

// snsEnvelope is an SNS message.
type snsEnvelope struct {
	Type             string  `json:"Type"`
	MessageID        string  `json:"MessageId"`
	TopicARN         string  `json:"TopicArn"`
	Subject          *string `json:"Subject"`
	Message          string  `json:"Message"`
	Timestamp        string  `json:"Timestamp"`
	Token            string  `json:"Token"`
	SubscribeURL     string  `json:"SubscribeURL"`
	SignatureVersion string  `json:"SignatureVersion"`
	Signature        string  `json:"Signature"`
	SigningCertURL   string  `json:"SigningCertURL"`
}

// signed returns the text that SNS signs: the names and values of some fields, each on its own line, sorted by name.
// For a message of another type, it returns false.
func (e *snsEnvelope) signed() (string, bool) {
	var fields [][2]string
	switch e.Type {
	case snsNotification:
		fields = [][2]string{{"Message", e.Message}, {"MessageId", e.MessageID}}
		if e.Subject != nil {
			fields = append(fields, [2]string{"Subject", *e.Subject})
		}
	case snsSubscribe, snsUnsubscribe:
		fields = [][2]string{
			{"Message", e.Message}, {"MessageId", e.MessageID}, {"SubscribeURL", e.SubscribeURL},
		}
	default:
		return "", false
	}
	fields = append(fields, [2]string{"Timestamp", e.Timestamp})
	if e.Type != snsNotification {
		fields = append(fields, [2]string{"Token", e.Token})
	}
	fields = append(fields, [2]string{"TopicArn", e.TopicARN}, [2]string{"Type", e.Type})
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f[0] + "\n" + f[1] + "\n")
	}
	return b.String(), true
}

// verifySNS verifies a message with the Amazon certificate that it names. It returns an error of kind Forbidden if the
// hook does not listen to the topic, because any Amazon customer can send signed messages from their own topic.
func verifySNS(ctx context.Context, h *Hook, r *Request) error {
	var e snsEnvelope
	if h.SNS == nil || json.Unmarshal(r.Body, &e) != nil || headerOf(r, headerSNSType) != e.Type {
		return core.ErrInvalidSignature
	}
	text, ok := e.signed()
	sig, err := base64.StdEncoding.DecodeString(e.Signature)
	if !ok || err != nil || e.MessageID == "" || !within(instantOf(e.Timestamp), r.Now, lastingTolerance) {
		return core.ErrInvalidSignature
	}
	if e.SignatureVersion != "1" && e.SignatureVersion != "2" || !snsCertURL(e.SigningCertURL) {
		return core.ErrInvalidSignature
	}
	key, err := h.SNS.certificate(ctx, e.SigningCertURL, r.Now)
	if err != nil {
		return err
	}
	if !verifyRSA(key, e.SignatureVersion, text, sig) {
		return core.ErrInvalidSignature
	}
	for _, topic := range h.Topics {
		if topic == e.TopicARN {
			return nil
		}
	}
	return core.Forbiddenf("This topic is not one of the provider's topics. Add it to topics.")
}

// verifyRSA reports whether sig is a signature of text in SNS's signature version 1 or 2.
func verifyRSA(key *rsa.PublicKey, version, text string, sig []byte) bool {
	if version == "1" {
		sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
		return rsa.VerifyPKCS1v15(key, crypto.SHA1, sum[:], sig) == nil
	}
	sum := sha256.Sum256([]byte(text))
	return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) == nil
}

// awsRegion matches a region name: eu-west-1, us-gov-east-1. Other names below amazonaws.com belong to customers:
// sns.s3 is a bucket.
const awsRegion = `[a-z]{2,4}(?:-[a-z]+){1,2}-[0-9]{1,2}`

var (
	snsHost = regexp.MustCompile(`^sns\.` + awsRegion + `\.amazonaws\.com(\.cn)?$`)
	snsARN  = regexp.MustCompile(`^arn:aws(-cn|-us-gov)?:sns:(` + awsRegion + `):[0-9]{12}:[A-Za-z0-9_-]{1,256}(\.fifo)?$`)
)

// snsCertURL reports whether s is a certificate URL on Amazon SNS.
func snsCertURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.User == nil &&
		snsHost.MatchString(u.Host) && strings.HasSuffix(u.Path, ".pem") &&
		u.RawQuery == "" && u.Fragment == "" && !strings.Contains(s, "?")
}

// certificate returns the public key of the certificate at a URL. It caches a certificate for a day and a failure for a
// minute. It also limits concurrent fetches, so that forged messages can't cause many. If the network fails, the error
// is of kind Unavailable, so that the sender retries. If the certificate is not valid, it returns
// core.ErrInvalidSignature.
func (s *SNS) certificate(ctx context.Context, at string, now core.Instant) (*rsa.PublicKey, error) {
	c, mine := s.slot(at, now)
	switch {
	case c == nil:
		return nil, core.ErrUnavailable.With(errors.New("too many SNS certificates are requested"))
	case mine:
		s.fetch(ctx, c, at, now)
	}
	select {
	case <-c.ready:
		return c.key, c.err
	case <-ctx.Done():
		return nil, core.ErrUnavailable.With(ctx.Err())
	}
}

// slot returns the cache entry for a URL. If mine is true, the caller must fill it. If too many entries are being
// filled at the moment, slot returns nil.
func (s *SNS) slot(at string, now core.Instant) (c *snsCert, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.certs[at]; c != nil && c.fresh(now) {
		return c, false
	}
	if s.fetches >= maxSNSFetches {
		return nil, false
	}
	if len(s.certs) >= maxSNSCerts || s.certs == nil {
		s.certs = map[string]*snsCert{}
	}
	c = &snsCert{ready: make(chan struct{})}
	s.certs[at] = c
	s.fetches++
	return c, true
}

// fetch fills a cache entry. It continues even if ctx is canceled, because others may be waiting for the entry.
func (s *SNS) fetch(ctx context.Context, c *snsCert, at string, now core.Instant) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snsFetchTimeout)
	defer cancel()
	c.until = now.Add(snsCertificateTTL)
	text, err := s.Fetch(ctx, at)
	if err != nil {
		c.err = core.ErrUnavailable.With(fmt.Errorf("fetch SNS certificate: %w", err))
	} else if c.key, err = s.check(ctx, text, now); err != nil {
		c.err = core.ErrInvalidSignature.With(fmt.Errorf("check SNS certificate: %w", err))
		if errors.Is(err, errIssuer) {
			c.err = core.ErrUnavailable.With(fmt.Errorf("check SNS certificate: %w", err))
		}
	}
	if c.err != nil {
		c.until = now.Add(snsFailureTTL)
	}
	s.mu.Lock()
	s.fetches--
	s.mu.Unlock()
	close(c.ready)
}

// errIssuer is returned if an issuer's certificate can't be fetched.
var errIssuer = errors.New("the issuer's certificate can't be fetched")

// check verifies the first certificate in a PEM file and returns its public key. The certificate's chain must end at a
// root other than itself. Missing issuers are fetched from the URL in the certificate (RFC 5280 section 4.2.2.1).
func (s *SNS) check(ctx context.Context, text []byte, now core.Instant) (*rsa.PublicKey, error) {
	var certs []*x509.Certificate
	for len(certs) < 8 {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("the file has no certificate")
	}
	leaf := certs[0]
	if leaf.CheckSignatureFrom(leaf) == nil || bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		return nil, errors.New("it is self-signed")
	}
	err := s.verify(certs, now)
	for range maxSNSIssuers {
		if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); !unknown {
			break
		}
		issuer, missing := s.issuer(ctx, certs[len(certs)-1])
		if missing != nil {
			return nil, missing
		}
		certs = append(certs, issuer)
		err = s.verify(certs, now)
	}
	if err != nil {
		return nil, err
	}
	key, ok := leaf.PublicKey.(*rsa.PublicKey)
	if !ok || key.N.BitLen() < 2048 {
		return nil, errors.New("its key is not an RSA key of at least 2048 bits")
	}
	return key, nil
}

// verify returns an error unless a chain leads from the first of certs through the others to a root.
func (s *SNS) verify(certs []*x509.Certificate, now core.Instant) error {
	between := x509.NewCertPool()
	for _, c := range certs[1:] {
		between.AddCert(c)
	}
	_, err := certs[0].Verify(x509.VerifyOptions{
		Roots: s.Roots, Intermediates: between, CurrentTime: now.Time(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

// issuer fetches the certificate that signed c.
func (s *SNS) issuer(ctx context.Context, c *x509.Certificate) (*x509.Certificate, error) {
	if len(c.IssuingCertificateURL) == 0 {
		return nil, errors.New("its chain doesn't end at a trusted root")
	}
	u, err := url.Parse(c.IssuingCertificateURL[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Host == "" {
		return nil, errors.New("it doesn't name its issuer's URL")
	}
	der, err := s.Fetch(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIssuer, err)
	}
	if block, _ := pem.Decode(der); block != nil {
		der = block.Bytes
	}
	issuer, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return issuer, c.CheckSignatureFrom(issuer)
}

// confirmSNS confirms the subscription to a topic, which verifySNS found in the hook's list. The URL is built from the
// topic's region and never taken from the message.
func confirmSNS(ctx context.Context, h *Hook, r *Request) error {
	var e snsEnvelope
	if json.Unmarshal(r.Body, &e) != nil || e.Type != snsSubscribe {
		return nil
	}
	arn := snsARN.FindStringSubmatch(e.TopicARN)
	if arn == nil || e.Token == "" {
		return core.Invalidf("TopicArn", "TopicArn is not an Amazon SNS topic.")
	}
	host := "sns." + arn[2] + ".amazonaws.com"
	if arn[1] == "-cn" {
		host += ".cn"
	}
	query := url.Values{"Action": {"ConfirmSubscription"}, "TopicArn": {e.TopicARN}, "Token": {e.Token}}
	if _, err := h.SNS.Fetch(ctx, "https://"+host+"/?"+query.Encode()); err != nil {
		return core.ErrUnavailable.With(fmt.Errorf("confirm %s: %w", e.TopicARN, err))
	}
	return nil
}
