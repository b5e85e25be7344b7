package objectstest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// verify returns the client that signed the request, or an error code. It checks the request as received, so it also
// detects URLs that were signed in a different form than they were sent.
func verify(r *http.Request, body []byte, now time.Time) (client, code string) {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return "", "AccessDenied"
	}
	given := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		given[name] = value
	}
	stamp := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", stamp)
	if err != nil {
		return "", "AccessDenied"
	}
	if off := now.Sub(at); off > 15*time.Minute || off < -15*time.Minute {
		return "", "RequestTimeTooSkewed"
	}
	client, scope, _ := strings.Cut(given["Credential"], "/")
	if scope != stamp[:8]+"/"+region+"/s3/aws4_request" {
		return "", "AuthorizationHeaderMalformed"
	}
	sum := sha256.Sum256(body)
	hashed := r.Header.Get("X-Amz-Content-Sha256")
	if hashed != hex.EncodeToString(sum[:]) && !(hashed == "UNSIGNED-PAYLOAD" && r.TLS != nil) {
		return "", "XAmzContentSHA256Mismatch"
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	pairs := strings.Split(query, "&")
	slices.SortFunc(pairs, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	names := strings.Split(given["SignedHeaders"], ";")
	lines := make([]string, 0, len(names)+6)
	lines = append(lines, r.Method, path, strings.Join(pairs, "&"))
	for _, name := range names {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		lines = append(lines, name+":"+value)
	}
	for name := range r.Header {
		name = strings.ToLower(name)
		if (strings.HasPrefix(name, "x-amz-") || name == "content-md5") && !slices.Contains(names, name) {
			return "", "AccessDenied" // this header must be signed
		}
	}
	lines = append(lines, "", given["SignedHeaders"], hashed)
	canonical := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(scope, "/"),
		"AWS4-HMAC-SHA256\n"+stamp+"\n"+scope+"\n"+hex.EncodeToString(canonical[:])) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	if hex.EncodeToString(key) != given["Signature"] {
		return "", "SignatureDoesNotMatch"
	}
	return client, ""
}
