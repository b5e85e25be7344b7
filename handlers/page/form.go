package page

import (
	"cmp"
	"html/template"
	"io"

	"newsletterd/core"
)

// embeddedForm is a form for a tenant's own site. It needs no scripts, cookies or files from this server, only the URL
// that it posts to.
var embeddedForm = template.Must(template.New("form").Parse(`<form action="{{.Action}}" method="post" accept-charset="utf-8">
  <label>{{.W.Email}} <input type="email" name="email" autocomplete="email" maxlength="254" required></label>
{{- range .Fields.Open}}
{{- if eq .Type "boolean"}}
  <label><input type="checkbox" name="{{.Name}}" value="true"{{if .Required}} required{{end}}> {{.Label}}</label>
{{- else if eq .Type "choice"}}
  <label>{{.Label}} <select name="{{.Name}}"{{if .Required}} required{{end}}>
    <option value="">{{$.W.Choose}}</option>
{{- range .Options}}
    <option>{{.}}</option>
{{- end}}
  </select></label>
{{- else}}
  <label>{{.Label}} <input name="{{.Name}}" maxlength="500"{{if .Required}} required{{end}}></label>
{{- end}}
{{- end}}
  <input name="_website" tabindex="-1" autocomplete="off" aria-hidden="true" style="position: absolute; left: -9999px">
{{- with .Tracking}}
  <label><input type="checkbox" name="{{.Name}}" value="{{.Version}}"> {{.Text}}</label>
{{- end}}
{{- if .ConsentText}}
  <p>{{.ConsentText}}</p>
{{- end}}
  <button>{{.W.SubscribeButton}}</button>
</form>
`))

// WriteForm writes a list's signup form, in the list's language, for the tenant's own site. The form posts to the
// tenant's public_url, or to origin if the tenant has none.
func WriteForm(w io.Writer, l *core.ListWithTenant, origin string) error {
	d := Style{Lang: l.PageLanguage(), Tenant: TenantBrand(OwnBrand(), &l.Tenant).Name}
	return embeddedForm.Execute(w, struct {
		*core.ListWithTenant
		W        *Words
		Action   string
		Tracking *TrackingBox
	}{l, d.Words(), cmp.Or(l.Tenant.PublicURL, origin) + SubscribePath(l.ID), TrackingBoxOf(&l.Tenant, &d)})
}

// TrackingBox is the checkbox for a subscriber's consent to individual open and click tracking. It is checked only if
// it was checked in a submitted form that was refused. A nil TrackingBox means that the tenant doesn't ask for consent.
type TrackingBox struct {
	Name, Text, Version string
	Checked             bool
}

// TrackingBoxOf returns the checkbox for a tenant's form in a style's language, or nil if the tenant doesn't ask for
// consent.
func TrackingBoxOf(t *core.Tenant, s *Style) *TrackingBox {
	if !t.AsksForTracking() {
		return nil
	}
	text := s.Expand(s.Words().TrackingText)
	return &TrackingBox{Name: core.TrackingMember, Text: text, Version: core.TextVersion(text)}
}
