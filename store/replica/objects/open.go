package objects

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Open returns the bucket of an address:
//
//	s3://bucket/path?endpoint=https://s3.example.org&region=eu-1&path-style=true&keys=instance
//	file:///abs/path
//
// Without an endpoint, the bucket is at Amazon S3, which requires the region. With keys=instance, Open uses the keys of
// the role of the EC2 instance. Otherwise env looks up the keys, in this order: NEWSLETTERD_REPLICA_ACCESS_KEY_ID and
// NEWSLETTERD_REPLICA_SECRET_ACCESS_KEY; AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the role in
// AWS_ROLE_ARN with the token in AWS_WEB_IDENTITY_TOKEN_FILE. Keys of a role are renewed five minutes before they
// expire. If the address has no region, AWS_REGION applies. Open doesn't connect to the storage. A folder must already
// exist, and Open doesn't change it. Errors name the problem in the address, and contain no secret.
func Open(rawURL string, env func(string) string) (Bucket, error) {
	u, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "s3" {
		return openS3(u, env)
	}
	return openMount(filepath.Clean(u.Path))
}

// parse checks the parts that all URLs have in common, and the whole URL of a folder.
func parse(rawURL string) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil { // the original error contains the address
		return nil, errors.New("is not a replica address. Use one such as s3://bucket/path or file:///path")
	}
	if u.User != nil {
		return nil, errors.New("contains credentials. Set them in the environment")
	}
	if u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("is not a replica address. Use one such as s3://bucket/path or file:///path")
	}
	switch u.Scheme {
	case "s3":
		return u, nil
	case "file":
		if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
			return nil, errors.New("must be an absolute path, for example file:///var/lib/replica")
		}
		return u, nil
	}
	return nil, errors.New("must start with s3:// or file:///")
}

// CheckURL returns the error that Open would return for an address, without using the environment. It contacts nothing.
func CheckURL(rawURL string) error {
	u, err := parse(rawURL)
	if err == nil && u.Scheme == "s3" {
		_, err = openS3(u, func(name string) string {
			return map[string]string{EnvKeyID: "any", EnvSecretKey: "any", "AWS_REGION": "any"}[name]
		})
	}
	return err
}

// Names of the environment variables with the keys to a storage, which take precedence over Amazon's own.
const (
	EnvKeyID     = "NEWSLETTERD_REPLICA_ACCESS_KEY_ID"
	EnvSecretKey = "NEWSLETTERD_REPLICA_SECRET_ACCESS_KEY"
)

// bucketName matches the bucket names that S3 allows, including uppercase letters and underscores in older ones.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$`)

var regionName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// parameterName matches the unknown parameter names that an error may quote.
var parameterName = regexp.MustCompile(`^[a-z_-]{1,12}$`)

func openS3(u *url.URL, env func(string) string) (Bucket, error) {
	b := &s3{
		bucket: u.Host, prefix: strings.Trim(u.Path, "/"), now: time.Now, wait: pause,
		timeout: baseTimeout, idle: idleTimeout, partSize: defaultPartSize,
	}
	if !bucketName.MatchString(b.bucket) || strings.Contains(b.bucket, "..") {
		return nil, fmt.Errorf("%q is not a bucket name", b.bucket)
	}
	if b.prefix != "" {
		if err := checkKey(b.prefix); err != nil {
			return nil, fmt.Errorf("the path can't be used: %w", err)
		}
		b.prefix += "/"
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the part after ? must be NAME=VALUE pairs, separated by &")
	}
	for name, values := range query {
		if name != "endpoint" && name != "region" && name != "path-style" && name != "keys" {
			if !parameterName.MatchString(name) { // it may be a misplaced key
				return nil, errors.New("a name after ? is unknown. Use endpoint, region, path-style or " +
					"keys=instance, and set other credentials in the environment")
			}
			return nil, fmt.Errorf("%q is unknown. Use endpoint, region, path-style or keys=instance, and set other "+
				"credentials in the environment", name)
		}
		if len(values) > 1 {
			return nil, fmt.Errorf("%s is set twice", name)
		}
	}
	giver := query.Get("keys")
	if giver != "" && giver != "instance" {
		return nil, errors.New("keys must be instance. Set other credentials in the environment")
	}
	endpoint, style := query.Get("endpoint"), query.Get("path-style")
	region := query.Get("region")
	if region == "" {
		region = env("AWS_REGION")
	}
	if region == "" && endpoint != "" {
		region = "us-east-1" // most other storages use this name or ignore the region
	}
	if !regionName.MatchString(region) {
		return nil, errors.New("needs the region of the bucket, for example region=eu-central-1")
	}
	b.signer.region = region
	if b.keys, err = ringFrom(env, region, giver != ""); err != nil {
		return nil, err
	}
	if style != "" && style != "true" && style != "false" {
		return nil, errors.New("path-style must be true or false")
	}
	pathStyle := style == "true" || style == "" && (endpoint != "" || strings.Contains(b.bucket, "."))
	return b, b.at(endpoint, pathStyle)
}

// at sets the endpoint for requests.
func (b *s3) at(endpoint string, pathStyle bool) error {
	if b.scheme, b.host = "https", "s3."+b.signer.region+".amazonaws.com"; endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			strings.Trim(u.Path, "/") != "" || u.Scheme != "https" && u.Scheme != "http" {
			return errors.New("endpoint must only have a scheme and a host, for example https://s3.example.org")
		}
		if u.Scheme == "http" && !loopback(u.Hostname()) {
			return errors.New("endpoint must start with https://. http is only allowed for localhost, for example " +
				"http://127.0.0.1:9000")
		}
		b.scheme, b.host = u.Scheme, u.Host
		if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
			b.host = strings.TrimSuffix(u.Host, ":"+port) // most clients sign the host without the default port
		}
	}
	if pathStyle {
		b.path = "/" + b.bucket + "/"
	} else {
		b.path, b.host = "/", b.bucket+"."+b.host
	}
	b.client = &http.Client{
		Transport:     transport(b.scheme),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// transport returns a transport that keeps connections to the storage open. Without TLS it connects only to this
// machine, whatever the host name resolves to.
func transport(scheme string) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	t := &http.Transport{
		TLSHandshakeTimeout:    5 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    128,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true, // ranges refer to the stored bytes
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true) // a lost connection then affects only one request
	if scheme == "https" {
		t.Proxy = http.ProxyFromEnvironment
	} else {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if host, _, err := net.SplitHostPort(address); err != nil || !loopback(host) {
				return errors.New("http is only allowed for localhost")
			}
			return nil
		}
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	return t
}
