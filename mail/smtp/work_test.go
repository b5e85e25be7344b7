package smtp

import (
	"net"
	"strings"
	"testing"
	"time"

	"newsletterd/core/coretest"
)

// TestWorkOfReplies measures the replies of SMTP servers with at most 128 lines of 4 KiB. It reads hundreds of each,
// because a single one is too fast to measure.
func TestWorkOfReplies(t *testing.T) {
	const replies = 200
	for name, line := range map[string]func(n int) string{
		"text":     func(n int) string { return "550-" + strings.Repeat("a", n) },
		"codes":    func(n int) string { return "550-" + strings.Repeat("5.1.1 ", n/6) },
		"digits":   func(n int) string { return "550-5." + strings.Repeat("1", n) },
		"no ends":  func(n int) string { return "550-" + strings.Repeat("\r", n) },
		"features": func(n int) string { return "250-AUTH " + strings.Repeat("PLAIN ", n/6) },
	} {
		t.Run(name, func(t *testing.T) {
			coretest.Work(t, "SMTP reply: "+name, func(part float64) (string, int) {
				long, end := line(maxReplyLine-10)+"\n", line(0)
				n := int((maxReplyLines - 1) * part)
				s := strings.Repeat(long, n) + strings.Replace(end, "-", " ", 1) + "\n"
				return s, len(s)
			}, func(s string) {
				for range replies {
					server, client := net.Pipe()
					c := newWire(client)
					c.keep = true
					go func() {
						_, _ = server.Write([]byte(s))
						server.Close()
					}()
					if err := c.read(time.Minute); err != nil {
						t.Error(err)
					}
					_, _ = VerdictOf(c.reply.enhanced, string(c.reply.text)), CodeIn(string(c.reply.text))
					client.Close()
				}
			})
		})
	}
}
