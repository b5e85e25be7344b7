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

// DNS answers questions from a zone, over TCP alone: "name type" → values. What is not there does not exist.
// It returns its address.
func DNS(t testing.TB, zone map[string][]string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
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

// talkDNS reads and answers messages, each after its length (RFC 1035 section 4.2.2).
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
		var m dnsmessage.Message
		if m.Unpack(buf) != nil || len(m.Questions) != 1 {
			return
		}
		b, err := answerDNS(zone, m)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)); err != nil {
			return
		}
	}
}

func answerDNS(zone map[string][]string, m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	name := strings.TrimSuffix(q.Name.String(), ".")
	r := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: m.Questions,
	}
	values := zone[name+" "+strings.TrimPrefix(q.Type.String(), "Type")]
	exists := func(key string) bool { return strings.HasPrefix(key, name+" ") }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(zone)), exists) {
		r.RCode = dnsmessage.RCodeNameError
	}
	for _, v := range values {
		var body dnsmessage.ResourceBody
		switch q.Type {
		case dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: [4]byte(net.ParseIP(v).To4())}
		case dnsmessage.TypeTXT:
			body = &dnsmessage.TXTResource{TXT: []string{v}}
		case dnsmessage.TypeMX:
			body = &dnsmessage.MXResource{Pref: 10, MX: dnsmessage.MustNewName(v)}
		case dnsmessage.TypePTR:
			body = &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName(v)}
		}
		r.Answers = append(r.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60}, Body: body,
		})
	}
	return r.Pack()
}
