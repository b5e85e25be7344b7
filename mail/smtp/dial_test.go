package smtp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/mail/mailtest"
)

// TestSilenceAfterSTARTTLS checks that a relay that stops answering after STARTTLS causes the same timeouts as any
// other.
func TestSilenceAfterSTARTTLS(t *testing.T) {
	for _, silent := range []string{"EHLO", "MAIL"} {
		synctest.Test(t, func(t *testing.T) {
			cert, roots, err := mailtest.Certificate("relay.test")
			if err != nil {
				t.Fatal(err)
			}
			dial := func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go silentRelay(theirs, &tls.Config{Certificates: []tls.Certificate{cert}}, silent)
				return ours, nil
			}
			client := &Client{Addr: "relay.test:587", TLS: TLSStart, TLSConfig: &tls.Config{RootCAs: roots}, Dial: dial}
			p := &post{t: t, n: 1, sender: client}
			begin := time.Now()
			if err := p.run(t.Context()); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", silent, err)
			}
			if took := time.Since(begin); took > 6*time.Minute {
				t.Errorf("%s: %v", silent, took)
			}
		})
	}
}

// silentRelay answers until it gets verb after STARTTLS, and then stops answering.
func silentRelay(nc net.Conn, config *tls.Config, verb string) {
	defer nc.Close()
	_, _ = io.WriteString(nc, "220 relay.test\r\n")
	secure := false
	for r := bufio.NewReader(nc); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch command := strings.Fields(line)[0]; {
		case secure && command == verb:
			_, _ = io.Copy(io.Discard, r)
			return
		case command == "STARTTLS":
			_, _ = io.WriteString(nc, "220 go ahead\r\n")
			nc, secure = tls.Server(nc, config), true
			r = bufio.NewReader(nc)
		default:
			_, _ = io.WriteString(nc, "250-relay.test\r\n250 STARTTLS\r\n")
		}
	}
}
