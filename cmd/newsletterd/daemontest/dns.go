package daemontest

import (
	"encoding/binary"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS starts a DNS server for a zone, over UDP and TCP, and returns its address. The zone maps "name type" to values.
// Names that are not in the zone don't exist. A key "name SERVFAIL" makes queries for the name fail, "name SILENT"
// leaves them without an answer, and "name CNAME" makes the name an alias of its value. "|" separates the strings of a
// TXT record.
func DNS(t testing.TB, zone map[string][]string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	packets, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := packets.ReadFrom(buf)
			if err != nil {
				return
			}
			b := replyDNS(zone, buf[:n])
			if len(b) > maxPacket { // the client asks again over TCP
				b = cutDNS(b)
			}
			if b != nil {
				_, _ = packets.WriteTo(b, from)
			}
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go talkDNS(c, zone)
		}
	}()
	return l.Addr().String()
}

// maxPacket is the maximum length in bytes of a UDP answer. Every resolver accepts answers of this length.
const maxPacket = 1200

// cutDNS truncates an answer to its question and marks it as truncated (RFC 1035 section 4.1.1).
func cutDNS(b []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(b) != nil {
		return nil
	}
	m.Truncated, m.Answers = true, nil
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// talkDNS answers the messages on a TCP connection. Each message is preceded by its length (RFC 1035 section 4.2.2).
func talkDNS(c net.Conn, zone map[string][]string) {
	defer c.Close()
	for {
		var n uint16
		if binary.Read(c, binary.BigEndian, &n) != nil {
			return
		}
		buf := make([]byte, n)
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		b := replyDNS(zone, buf)
		if b == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)); err != nil {
			return
		}
	}
}

// replyDNS returns the answer to a message, or nil to send none.
func replyDNS(zone map[string][]string, question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	if _, silent := zone[strings.TrimSuffix(m.Questions[0].Name.String(), ".")+" SILENT"]; silent {
		return nil
	}
	b, err := answerDNS(zone, m)
	if err != nil {
		return nil
	}
	return b
}

func answerDNS(zone map[string][]string, m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	r := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: m.Questions,
	}
	if to := zone[name+" CNAME"]; len(to) == 1 {
		r.Answers = append(r.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
			Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to[0] + ".")},
		})
		name = to[0]
	}
	values := zone[name+" "+strings.TrimPrefix(q.Type.String(), "Type")]
	exists := func(key string) bool { return strings.HasPrefix(key, name+" ") }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(zone)), exists) {
		r.RCode = dnsmessage.RCodeNameError
	}
	if _, fails := zone[name+" SERVFAIL"]; fails {
		r.RCode = dnsmessage.RCodeServerFailure
	}
	for _, v := range values {
		var body dnsmessage.ResourceBody
		switch q.Type {
		case dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: [4]byte(net.ParseIP(v).To4())}
		case dnsmessage.TypeTXT:
			body = &dnsmessage.TXTResource{TXT: strings.Split(v, "|")}
		case dnsmessage.TypeMX:
			body = &dnsmessage.MXResource{Pref: 10, MX: dnsmessage.MustNewName(v)}
		case dnsmessage.TypePTR:
			body = &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName(v)}
		}
		r.Answers = append(r.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{
				Name: dnsmessage.MustNewName(name + "."), Class: q.Class, TTL: 60,
			}, Body: body,
		})
	}
	return r.Pack()
}
