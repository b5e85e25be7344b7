package core

import (
	"slices"
	"strings"
)

// dnsHosts lists DNS providers. servers are suffixes of their name servers' names, or substrings if they start with
// "*".
var dnsHosts = []struct {
	id, name string
	servers  []string
}{
	{"cloudflare", "Cloudflare", []string{"ns.cloudflare.com"}},
	{"godaddy", "GoDaddy", []string{"domaincontrol.com"}},
	{"namecheap", "Namecheap", []string{"registrar-servers.com"}},
	{"ionos", "IONOS", []string{"ui-dns.com", "ui-dns.org", "ui-dns.de", "ui-dns.biz"}},
	{"strato", "STRATO", []string{"rzone.de"}},
	{"hetzner", "Hetzner", []string{"ns.hetzner.com", "ns.hetzner.de", "first-ns.de", "second-ns.de", "second-ns.com"}},
	{"ovh", "OVHcloud", []string{"ovh.net", "ovh.ca", "anycast.me"}},
	{"gandi", "Gandi", []string{"gandi.net"}},
	{"route53", "Amazon Route 53", []string{"*.awsdns-"}},
	{"google", "Google Cloud DNS", []string{"googledomains.com"}},
	{"squarespace", "Squarespace", []string{"squarespacedns.com"}},
	{"azure", "Azure DNS", []string{"*.azure-dns."}},
	{"digitalocean", "DigitalOcean", []string{"digitalocean.com"}},
	{"wix", "Wix", []string{"wixdns.net"}},
	{"inwx", "INWX", []string{"inwx.de", "inwx.eu", "inwx.net"}},
	{"netcup", "netcup", []string{"netcup.net"}},
	{"allinkl", "ALL-INKL.COM", []string{"kasserver.com"}},
	{"uniteddomains", "united-domains", []string{"udag.de", "udagdns.de", "udagdns.net"}},
	{"infomaniak", "Infomaniak", []string{"infomaniak.com", "infomaniak.ch"}},
	{"hostinger", "Hostinger", []string{"dns-parking.com"}},
	{"porkbun", "Porkbun", []string{"porkbun.com"}},
}

// DNSHost returns the DNS provider that runs a zone's name servers. id is newsletterd's own id for the provider. ok is
// false if the provider is unknown.
func DNSHost(nameServers []string) (id, name string, ok bool) {
	for _, server := range nameServers {
		server = "." + strings.ToLower(strings.TrimSuffix(server, "."))
		for _, h := range dnsHosts {
			if slices.ContainsFunc(h.servers, func(s string) bool {
				inner, anywhere := strings.CutPrefix(s, "*")
				return anywhere && strings.Contains(server, inner) || !anywhere && strings.HasSuffix(server, "."+s)
			}) {
				return h.id, h.name, true
			}
		}
	}
	return "", "", false
}

// relaySPF lists relays with their own SPF include, by host name suffix.
var relaySPF = []struct{ host, include string }{
	{"amazonaws.com", "amazonses.com"},
	{"brevo.com", "spf.brevo.com"},
	{"sendinblue.com", "spf.brevo.com"},
	{"fastmail.com", "spf.messagingengine.com"},
	{"gmail.com", "_spf.google.com"},
	{"office365.com", "spf.protection.outlook.com"},
	{"mailgun.org", "mailgun.org"},
	{"mailjet.com", "spf.mailjet.com"},
	{"mandrillapp.com", "spf.mandrillapp.com"},
	{"postmarkapp.com", "spf.mtasv.net"},
	{"sendgrid.net", "sendgrid.net"},
	{"smtp2go.com", "spf.smtp2go.com"},
	{"sparkpostmail.com", "_spf.sparkpostmail.com"},
}
