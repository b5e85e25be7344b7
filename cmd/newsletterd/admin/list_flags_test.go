package admin

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/core"
)

// TestListHasAFlagForEachField checks that `admin list create` can set each field of a list, under the API's name.
func TestListHasAFlagForEachField(t *testing.T) {
	values := map[string]string{
		"status": "inactive", "confirm-token": "live", "language": "de", "fields": "[]", "mail-texts": "{}",
	}
	args := []string{"test"}
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[core.ListInput]()) {
		flag := strings.ReplaceAll(f.Tag.Get("json"), "_", "-")
		if flag == "id" || flag == "tenant-id" { // arguments that every command has
			continue
		}
		if !slices.ContainsFunc(listFlags(), func(known cli.Flag) bool {
			return slices.Contains(known.Names(), flag)
		}) {
			t.Errorf("listFlags has no %s", flag)
			continue
		}
		fields = append(fields, f.Name)
		switch value := values[flag]; {
		case value != "":
			args = append(args, "--"+flag+"="+value)
		case f.Type == reflect.TypeFor[*bool]():
			args = append(args, "--"+flag)
		default:
			args = append(args, "--"+flag+"=a")
		}
	}
	var in core.ListInput
	app := &cli.App{Flags: listFlags(), Action: func(c *cli.Context) (err error) {
		in, err = listInput(c)
		return err
	}}
	if err := app.Run(args); err != nil {
		t.Fatal(err)
	}
	for _, name := range fields {
		if reflect.ValueOf(in).FieldByName(name).IsNil() {
			t.Errorf("listInput ignores the flag of %s", name)
		}
	}
}
