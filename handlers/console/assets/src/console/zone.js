// The time zone of the browser goes along with each request, so that pages show times in it.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const name = "newsletterd-zone";
if (zone && !document.cookie.split("; ").includes(`${name}=${encodeURIComponent(zone)}`)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${name}=${encodeURIComponent(zone)}; path=/console; max-age=31536000; samesite=lax${secure}`;
}
