// Notes what the policy of a page refused, and faults of its scripts.
window.faults = [];
document.addEventListener("securitypolicyviolation", (e) => {
  window.faults.push(`policy: ${e.effectiveDirective} ${e.blockedURI} ${e.sample} ${e.sourceFile}:${e.lineNumber}`);
});
addEventListener("error", (e) => window.faults.push(`error: ${e.message}`));
addEventListener("unhandledrejection", (e) => window.faults.push(`rejection: ${e.reason}`));
