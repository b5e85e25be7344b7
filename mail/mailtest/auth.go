package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Certificate creates a certificate for a host name or IP address, and a pool that trusts it.
func Certificate(host string) (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("mailtest: %w", err)
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("mailtest: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("mailtest: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: cert}, pool, nil
}

// auth implements the server side of AUTH (RFC 4954). It reports whether the connection is still open.
func (c *session) auth(arg string) bool {
	name, initial, _ := strings.Cut(arg, " ")
	var ok bool
	switch strings.ToUpper(name) {
	case "PLAIN":
		parts := strings.Split(string(decode(initial)), "\x00")
		ok = len(parts) == 3 && c.password(parts[1]) == parts[2]
	case "LOGIN":
		user := c.prompt("Username:")
		ok = c.password(user) == c.prompt("Password:")
	case "CRAM-MD5":
		const challenge = "<12.34@test.localhost>"
		user, sum, _ := strings.Cut(c.prompt(challenge), " ")
		m := hmac.New(md5.New, []byte(c.password(user)))
		m.Write([]byte(challenge))
		ok = hex.EncodeToString(m.Sum(nil)) == sum
	case "SCRAM-SHA-256":
		ok = c.scram(string(decode(initial)))
	default:
		return c.write("504 5.5.4 unknown mechanism")
	}
	if !ok {
		return c.write("535 5.7.8 credentials are wrong")
	}
	c.authed = true
	return c.write("235 2.7.0 welcome")
}

// password returns a user's password. For an unknown user it returns one that no client can send.
func (c *session) password(user string) string {
	if p, ok := c.server.script.Users[user]; ok {
		return p
	}
	return "\x00"
}

func (c *session) prompt(challenge string) string {
	if !c.write("334 " + base64.StdEncoding.EncodeToString([]byte(challenge))) {
		return ""
	}
	line, _ := c.r.ReadString('\n')
	return string(decode(strings.TrimSpace(line)))
}

func decode(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

// scram implements the server side of SCRAM (RFC 5802). It reports whether the client proved that it has the password.
func (c *session) scram(first string) bool {
	bare, ok := strings.CutPrefix(first, "n,,")
	user, nonce, ok2 := strings.Cut(strings.TrimPrefix(bare, "n="), ",r=")
	if !ok || !ok2 {
		return false
	}
	const salt, rounds = "salty-salt", 4096
	serverFirst := fmt.Sprintf("r=%sSERVER,s=%s,i=%d", nonce, base64.StdEncoding.EncodeToString([]byte(salt)), rounds)
	without, proof, ok := strings.Cut(c.prompt(serverFirst), ",p=")
	if !ok || without != "c=biws,r="+nonce+"SERVER" {
		return false
	}
	salted, err := pbkdf2.Key(sha256.New, c.password(user), []byte(salt), rounds, 32)
	if err != nil {
		return false
	}
	message := bare + "," + serverFirst + "," + without
	clientKey := mac(salted, "Client Key")
	stored := sha256.Sum256(clientKey)
	want := mac(stored[:], message)
	for i := range want {
		want[i] ^= clientKey[i]
	}
	if !hmac.Equal(want, decode(proof)) {
		return false
	}
	signature := mac(mac(salted, "Server Key"), message)
	if c.server.script.Impostor {
		signature[0] ^= 1
	}
	return c.prompt("v="+base64.StdEncoding.EncodeToString(signature)) == ""
}

func mac(key []byte, message string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}
