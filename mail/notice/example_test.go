package notice_test

import (
	"fmt"
	"strings"
	"time"

	"newsletterd/mail/notice"
)

func ExampleKind_Render() {
	subject, text, _, err := notice.Confirm.Render(notice.Data{
		To: "ann@example.net", List: "Garden Weekly", URL: "https://news.example.org/confirm?token=abc",
		Valid: 48 * time.Hour, Brand: notice.Brand{Name: "Garden"}, Language: "en",
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(subject)
	fmt.Println(strings.Contains(text, "https://news.example.org/confirm?token=abc"))
	// Output:
	// Confirm your subscription to Garden Weekly
	// true
}
