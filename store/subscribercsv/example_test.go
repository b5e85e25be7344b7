package subscribercsv_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"newsletterd/store/subscribercsv"
)

// A file of any program is read line by line. A faulty line is reported with its number, and reading continues.
func ExampleReader_Next() {
	file := "E-Mail;First name\nann@example.org;Ann\nann at example;Ann\n"
	r, err := subscribercsv.NewReader(strings.NewReader(file), subscribercsv.Options{
		Map: map[string]string{"First name": "given_name"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		row, _, err := r.Next()
		var fault subscribercsv.LineError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &fault):
			fmt.Println("line", fault.Line, "is left out")
		case err != nil:
			fmt.Println(err)
			return
		default:
			fmt.Println(row.Email, row.Preferences)
		}
	}
	// Output:
	// ann@example.org {"given_name":"Ann"}
	// line 3 is left out
}
