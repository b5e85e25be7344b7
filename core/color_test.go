package core

import (
	"fmt"
	"testing"
)

func ExampleColor() {
	c, ok := ParseColor("#7A1f3d")
	fmt.Println(c, ok, c.Inverted(), c.Mix(White, 0.5))
	fmt.Printf("%.2f %.2f %.2f\n", c.Contrast(White), Black.Contrast(White), c.Contrast(c))
	// Output:
	// #7a1f3d true #e085a3 #bd8f9e
	// 10.04 21.00 1.00
}

func TestParseColorRefuses(t *testing.T) {
	for _, s := range []string{"", "#", "red", "#fff", "#12345g", "#1234567", "0123456", "#+12345"} {
		if c, ok := ParseColor(s); ok {
			t.Errorf("%q is %s", s, c)
		}
	}
}
