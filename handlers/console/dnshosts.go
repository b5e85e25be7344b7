package console

// hostSteps are where the records of a domain are made at those who keep domains (core.DNSHost), in a sentence. Their
// pages change: so each says what to look for, and no more.
var hostSteps = map[string]string{
	"cloudflare": "At Cloudflare: choose the domain, then “DNS” and “Records”, and “Add record”. For a CNAME, " +
		"switch the cloud off (“DNS only”).",
	"godaddy":   "At GoDaddy: “My Products”, “DNS” next to the domain, then “Add New Record”.",
	"namecheap": "At Namecheap: “Domain List”, “Manage” next to the domain, “Advanced DNS”, then “Add New Record”.",
	"ionos":     "At IONOS: “Domains & SSL”, the gear next to the domain, “DNS”, then “Add record”.",
	"strato": "At STRATO: “Domains”, the gear next to the domain, “DNS”, then “TXT records” (CNAME and A " +
		"records have entries of their own there).",
	"hetzner": "At Hetzner: the DNS console, the zone of the domain, then “Add record”. At konsoleH it is “DNS " +
		"settings” of the domain.",
	"ovh":   "At OVHcloud: “Web Cloud”, “Domain names”, the domain, “DNS zone”, then “Add an entry”.",
	"gandi": "At Gandi: “Domain”, the domain, “DNS Records”, then “Add”.",
	"route53": "At Amazon Route 53: “Hosted zones”, the domain, then “Create record”. The value of a TXT " +
		"record stands between quotes, in pieces of at most 255 characters: \"first\" \"second\".",
	"google": "At Google Cloud DNS: the zone of the domain, then “Add standard”. The value of a TXT record " +
		"stands between quotes.",
	"squarespace":  "At Squarespace: “Domains”, the domain, “DNS Settings”, then “Add record” under “Custom records”.",
	"azure":        "At Azure: “DNS zones”, the zone of the domain, then “Record set” and “Add”.",
	"digitalocean": "At DigitalOcean: “Networking”, “Domains”, the domain, then the kind of the record.",
	"wix":          "At Wix: “Domains”, the three dots next to the domain, “Manage DNS Records”, then “Add Record”.",
	"inwx":         "At INWX: “Nameserver”, the domain, then “Add new record”.",
	"netcup": "At netcup: “Domains” in the customer area, the magnifying glass next to the domain, “DNS”, " +
		"then a new line at the end.",
	"allinkl": "At ALL-INKL.COM: the KAS, “Tools”, “DNS settings”, the pencil next to the domain, then “Add " +
		"new DNS entry”.",
	"uniteddomains": "At united-domains: “Domain portfolio”, the domain, “DNS configuration”, then “TXT records” or " +
		"“Subdomains”.",
	"infomaniak": "At Infomaniak: “Domains”, the domain, “DNS zone”, then “Add a record”.",
	"hostinger":  "At Hostinger: “Domains”, the domain, “DNS / Nameservers”, then “Manage DNS records”.",
	"porkbun": "At Porkbun: “Domain Management”, “DNS” next to the domain, then “Add” under “Manage DNS " +
		"Records”.",
}

// HostSteps says where records are made at who keeps the domain, and how names are entered.
func (p *Page) HostSteps(id, name string) string {
	switch {
	case hostSteps[id] != "":
		return p.T(hostSteps[id])
	case name != "":
		return p.T("{{name}} keeps the domain: sign in there, and look for its DNS records.", "name", name)
	}
	return p.T("Sign in where the domain was bought, or where its site is, and look for “DNS” or “name server”.")
}
