package main

import (
	"encoding/json"
	"strings"
)

// tryRTF pastes from Word's clipboard two images whose HTML only has file names. The editor sends them in their order,
// unless it can't match them for sure.
func tryRTF(b *consoleBrowser) {
	b.Helper()
	const once = `{\rtf1{\*\shppict{\pict{\*\picprop{\sp{\sn a}{\sv \{1\}}}}\picw2\pngblip\bliptag7{\*\blipuid 00ff}` + "\n89504e47\n0a" +
		`}}{\nonshppict{\pict\wmetafile8 0102}}{\*\shppict{\pict\wmetafile8 0304}}{\*\shppict{\pict\jpegblip\bliptag-7` + "\n" + `ffd8ff}}}`
	paste := func(images int, rtf string) {
		b.openEditor("")
		page := "<p>First</p>" + strings.Repeat(`<p><img src="file:///C:/clip_image.png"></p><p>Next</p>`, images)
		for _, text := range []*string{&page, &rtf} {
			quoted, err := json.Marshal(*text)
			if err != nil {
				b.Fatal(err)
			}
			*text = string(quoted)
		}
		b.Eval(`(() => {
			const data = new DataTransfer();
			data.setData("text/html", ` + page + `);
			data.setData("text/rtf", ` + rtf + `);
			document.querySelector(".editor-text").dispatchEvent(new ClipboardEvent("paste", {
				bubbles: true, cancelable: true, clipboardData: data}));
		})()`)
	}
	before, _ := b.count("/pictures")
	paste(2, once)
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending=''] img").length === 2`)
	if now, _ := b.count("/pictures"); now != before+2 {
		b.Errorf("%d pictures were sent", now-before)
	}
	b.expect(`[...document.querySelectorAll(".editor-figure img")].map(e => e.src).join(" ")`,
		"data:image/png;base64,iVBORwo= data:image/jpeg;base64,/9j/")
	paste(3, once)
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='send'], .editor-figure[data-pending='']").length === 2`)
	paste(4, once)
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='drop']").length === 4`)
	paste(1, strings.TrimSuffix(once, "}}}"))
	b.Wait(`document.querySelectorAll(".editor-figure[data-pending='drop']").length === 1`)
	b.clean()
}
