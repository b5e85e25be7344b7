package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// credentials holds keys to a storage.
type credentials struct {
	id, secret, session string
	expires             time.Time // zero: they don't expire
}

const (
	renewBefore  = 5 * time.Minute  // renew keys this long before they expire
	renewPause   = 30 * time.Second // pause after a failed renewal, while the old keys are still valid
	keysTimeout  = 5 * time.Second  // timeout of a request for keys
	maxKeyAnswer = 64 << 10         // maximum size in bytes of its response, and of a token file
)

// keyring holds the keys of a storage and renews them before they expire. It is safe for concurrent use: one caller
// requests new keys, the others wait.
type keyring struct {
	fetch func(context.Context) (credentials, error) // nil: held never changes

	mu     sync.Mutex
	held   credentials
	asked  time.Time // time of the last request for keys
	hidden []string  // secrets of earlier keys, which responses can still contain
}

// get returns keys that are valid at now. An error contains no secret.
func (k *keyring) get(ctx context.Context, now time.Time) (credentials, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	good := k.held.id != "" && k.held.goodAt(now)
	if k.fetch == nil || good && (k.held.goodAt(now.Add(renewBefore)) || now.Sub(k.asked) < renewPause) {
		return k.held, nil
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	fresh, err := k.fetch(ctx)
	if err == nil && !fresh.goodAt(now) {
		err = fmt.Errorf("they expired at %s; check the clock", fresh.expires.UTC().Format(time.RFC3339))
	}
	k.asked = now
	switch {
	case err == nil:
		if k.held.id != "" {
			k.hidden = k.held.secrets()
		}
		k.held = fresh
	case !good:
		return credentials{}, fmt.Errorf("storage credentials: %w", err)
	}
	return k.held, nil
}

// forget makes the next call to get request new keys, because the storage considers the current ones expired. It
// reports whether new keys can be requested.
func (k *keyring) forget() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fetch == nil {
		return false
	}
	k.hidden, k.held = k.held.secrets(), credentials{}
	return true
}

// secrets returns the strings that must not appear in errors and logs.
func (k *keyring) secrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append(k.held.secrets(), k.hidden...)
}

func (c *credentials) goodAt(now time.Time) bool { return c.expires.IsZero() || c.expires.After(now) }

func (c *credentials) secrets() []string {
	return slices.DeleteFunc([]string{c.secret, c.session, c.id}, func(s string) bool { return s == "" })
}

// check returns an error if the keys can't be valid.
func (c *credentials) check() error {
	if c.id == "" || c.secret == "" ||
		strings.ContainsFunc(c.id+c.secret+c.session, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("a part is missing, or contains spaces or line breaks")
	}
	return nil
}

// ringFrom returns a keyring. If instance is true, the keys come from the machine's role. Otherwise the environment
// contains them or names their source.
func ringFrom(env func(string) string, region string, instance bool) (*keyring, error) {
	web := env("AWS_WEB_IDENTITY_TOKEN_FILE")
	keys, given, err := keysFrom(env)
	switch {
	case instance:
		base := cmp.Or(env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254")
		if err := checkGiver(base, "169.254.169.254", "fd00:ec2::254"); err != nil {
			return nil, fmt.Errorf("AWS_EC2_METADATA_SERVICE_ENDPOINT %w", err)
		}
		return &keyring{fetch: instanceRole(strings.TrimSuffix(base, "/"))}, nil
	case err != nil || given:
		return &keyring{held: keys}, err
	case web != "":
		role := env("AWS_ROLE_ARN")
		if role == "" {
			return nil, errors.New("AWS_ROLE_ARN is missing, but AWS_WEB_IDENTITY_TOKEN_FILE is set")
		}
		base := cmp.Or(env("AWS_ENDPOINT_URL_STS"), "https://sts."+region+".amazonaws.com")
		if err := checkGiver(base); err != nil {
			return nil, fmt.Errorf("AWS_ENDPOINT_URL_STS %w", err)
		}
		return &keyring{fetch: webIdentity(base, role, cmp.Or(env("AWS_ROLE_SESSION_NAME"), "newsletterd"), web)}, nil
	}
	return nil, fmt.Errorf("%s and %s are missing in the environment", EnvKeyID, EnvSecretKey)
}

// checkGiver returns an error for a URL to which tokens would be sent without TLS. This machine is exempt, and so are
// the given hosts, which a cloud provides for this purpose.
func checkGiver(address string, hosts ...string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" &&
		(u.Scheme != "http" || !loopback(u.Hostname()) && !slices.Contains(hosts, u.Hostname())) {
		return errors.New("must start with https://. http is only allowed for localhost and the cloud's metadata " +
			"hosts")
	}
	return nil
}

// instanceRole requests keys from version 2 of the EC2 metadata service
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-security-credentials.html).
func instanceRole(base string) func(context.Context) (credentials, error) {
	client := giverClient(base)
	return func(ctx context.Context) (credentials, error) {
		token, err := askGiver(ctx, client, http.MethodPut, base+"/latest/api/token", "",
			"X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
		if err != nil {
			return credentials{}, fmt.Errorf("metadata service: %w", err)
		}
		ask := func(name string) ([]byte, error) {
			return askGiver(ctx, client, http.MethodGet, base+"/latest/meta-data/iam/security-credentials/"+name, "",
				"X-Aws-Ec2-Metadata-Token", strings.TrimSpace(string(token)))
		}
		roles, err := ask("")
		if err != nil {
			return credentials{}, fmt.Errorf("machine role: %w", err)
		}
		role, _, _ := strings.Cut(strings.TrimSpace(string(roles)), "\n")
		text, err := ask(url.PathEscape(role))
		if err != nil {
			return credentials{}, fmt.Errorf("machine role credentials: %w", err)
		}
		return roleKeys(text)
	}
}

// roleKeys parses the JSON response of the metadata service.
func roleKeys(text []byte) (credentials, error) {
	var a struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	if json.Unmarshal(text, &a) != nil {
		return credentials{}, errors.New("the response isn't JSON with credentials")
	}
	c := credentials{a.AccessKeyID, a.SecretAccessKey, a.Token, a.Expiration}
	return c, c.check()
}

// webIdentity exchanges the token in a file, which Kubernetes renews, for keys of a role
// (https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html).
func webIdentity(base, role, session, tokenFile string) func(context.Context) (credentials, error) {
	client := giverClient(base)
	return func(ctx context.Context) (credentials, error) {
		token, err := readToken(tokenFile)
		if err != nil {
			return credentials{}, err
		}
		form := url.Values{
			"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {role},
			"RoleSessionName": {session}, "WebIdentityToken": {token},
		}
		text, err := askGiver(ctx, client, http.MethodPost, base, form.Encode(), "Content-Type",
			"application/x-www-form-urlencoded")
		if err != nil {
			return credentials{}, fmt.Errorf("role in AWS_ROLE_ARN: %w", err)
		}
		var a struct {
			AccessKeyID     string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>AccessKeyId"`
			SecretAccessKey string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SecretAccessKey"`
			SessionToken    string    `xml:"AssumeRoleWithWebIdentityResult>Credentials>SessionToken"`
			Expiration      time.Time `xml:"AssumeRoleWithWebIdentityResult>Credentials>Expiration"`
		}
		if xml.Unmarshal(text, &a) != nil {
			return credentials{}, errors.New("the response isn't XML with credentials")
		}
		c := credentials{a.AccessKeyID, a.SecretAccessKey, a.SessionToken, a.Expiration}
		return c, c.check()
	}
}

// readToken returns the content of a token file.
func readToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("token for the role: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKeyAnswer))
	if err != nil {
		return "", fmt.Errorf("token for the role: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// giverClient returns a client for requesting keys. Without TLS it uses no proxy.
func giverClient(address string) *http.Client {
	t := &http.Transport{
		DialContext: (&net.Dialer{Timeout: keysTimeout}).DialContext, TLSHandshakeTimeout: keysTimeout,
		IdleConnTimeout: keysTimeout, MaxResponseHeaderBytes: maxKeyAnswer,
	}
	if strings.HasPrefix(address, "https://") {
		t.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// knownCode matches the error codes that an error may quote.
var knownCode = regexp.MustCompile(`^[A-Za-z.]{1,64}$`)

// askGiver sends a request for keys with one header. Its error contains only the status and the code of a refusal, and
// nothing else that was sent or received.
func askGiver(ctx context.Context, client *http.Client, method, address, body, name, value string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return nil, errors.New("its address is invalid")
	}
	req.Header.Set(name, value)
	resp, err := client.Do(req)
	if in := new(url.Error); errors.As(err, &in) {
		return nil, in.Err
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeyAnswer))
	if resp.StatusCode != http.StatusOK {
		var said struct {
			Code string `xml:"Error>Code"`
		}
		if xml.Unmarshal(text, &said) != nil {
			_ = json.Unmarshal(text, &said) // the status is enough if this fails
		}
		if knownCode.MatchString(said.Code) {
			return nil, fmt.Errorf("response %d %s", resp.StatusCode, said.Code)
		}
		return nil, fmt.Errorf("response %d", resp.StatusCode)
	}
	return text, err
}

// loopback reports whether a host name or address refers to this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// keysFrom returns the keys in the environment, and whether there are any.
func keysFrom(env func(string) string) (keys credentials, given bool, err error) {
	const ours, theirs = "NEWSLETTERD_REPLICA_", "AWS_"
	for _, prefix := range []string{ours, theirs} {
		keys := credentials{id: env(prefix + "ACCESS_KEY_ID"), secret: env(prefix + "SECRET_ACCESS_KEY")}
		if prefix == theirs {
			keys.session = env("AWS_SESSION_TOKEN")
		}
		switch {
		case keys.id == "" && keys.secret == "":
			continue
		case keys.id == "":
			return keys, true, fmt.Errorf("%sACCESS_KEY_ID is missing, but %[1]sSECRET_ACCESS_KEY is set", prefix)
		case keys.secret == "":
			return keys, true, fmt.Errorf("%sSECRET_ACCESS_KEY is missing, but %[1]sACCESS_KEY_ID is set", prefix)
		case keys.check() != nil:
			return keys, true, fmt.Errorf("%sACCESS_KEY_ID or its secret contains spaces or line breaks", prefix)
		}
		return keys, true, nil
	}
	return credentials{}, false, nil
}
