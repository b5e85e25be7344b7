package console

// hostSteps maps hosting providers (core.DNSHost) to a sentence about where to create DNS records. Providers change
// their sites, so the sentences only say what to look for.
var hostSteps = map[string]string{
	"cloudflare": "Go to your domain > DNS > Records > Add record. For a CNAME, turn off the proxy (“DNS only”).",
	"godaddy":    "Go to My Products > DNS next to your domain > Add New Record.",
	"namecheap":  "Go to Domain List > Manage next to your domain > Advanced DNS > Add New Record.",
	"ionos":      "Go to Domains & SSL > gear icon next to your domain > DNS > Add record.",
	"strato": "Go to Domains > gear icon next to your domain > DNS > TXT records. CNAME and A records have their " +
		"own menu items.",
	"hetzner": "In the DNS console, go to your domain's zone > Add record. In konsoleH, go to your domain > DNS " +
		"settings.",
	"ovh":   "Go to Web Cloud > Domain names > your domain > DNS zone > Add an entry.",
	"gandi": "Go to Domain > your domain > DNS Records > Add.",
	"route53": "Go to Hosted zones > your domain > Create record. Put TXT values in quotes, in parts of up to 255 " +
		"characters: \"first\" \"second\".",
	"google":       "Open your domain's zone and choose Add standard. Put TXT values in quotes.",
	"squarespace":  "Go to Domains > your domain > DNS Settings > Custom records > Add record.",
	"azure":        "Go to DNS zones > your domain > Record set > Add.",
	"digitalocean": "Go to Networking > Domains > your domain, then choose the record type.",
	"wix":          "Go to Domains > three dots next to your domain > Manage DNS Records > Add Record.",
	"inwx":         "Go to Nameserver > your domain > Add new record.",
	"netcup": "In the customer area, go to Domains > magnifying glass next to your domain > DNS. Add a line at " +
		"the end.",
	"allinkl":       "In KAS, go to Tools > DNS settings > pencil icon next to your domain > Add new DNS entry.",
	"uniteddomains": "Go to Domain portfolio > your domain > DNS configuration > TXT records or Subdomains.",
	"infomaniak":    "Go to Domains > your domain > DNS zone > Add a record.",
	"hostinger":     "Go to Domains > your domain > DNS / Nameservers > Manage DNS records.",
	"porkbun":       "Go to Domain Management > DNS next to your domain > Manage DNS Records > Add.",
}

// HostSteps describes where to create DNS records at a hosting provider, and how to enter their names.
func (p *Page) HostSteps(id, name string) string {
	switch {
	case hostSteps[id] != "":
		return p.T(hostSteps[id])
	case name != "":
		return p.T("Sign in to {{name}} and look for the domain's DNS records.", "name", name)
	}
	return p.T("Sign in where you bought the domain or host your website, and look for “DNS” or “name servers”.")
}
