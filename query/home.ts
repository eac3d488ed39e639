// The page at `/`: says what this is, where to send and where the API is described.

const paths = (...lines: readonly string[]): string =>
  `<ul>${lines.map(line => `<li><code>${line.replace(' ', '&nbsp;')}</code></li>`).join('\n')}</ul>`

/** Plain HTML; needs no script and nothing from elsewhere. */
export const homePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>parley</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 42rem; margin: 0 auto; padding: 2rem 1rem }
code { font-size: .9em; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 0 }
p, ul { margin: .5rem 0 }
ul { padding-left: 1.25rem }
</style>
</head>
<body>
<h1>parley</h1>
<p>Analytics and monitoring for AI agents: every acknowledged session, event, call and trace, exactly once.</p>
<h2>Send</h2>
<p>With the organization id in the header <code>x-org-id</code>:</p>
${paths('POST /api/v1/capture-session', 'POST /api/v1/capture-event', 'POST /api/voice/v1/webhooks/voice-platform')}
<p>OpenTelemetry traces with the header <code>X-Service-Org-ID</code>, on the port of the collector:</p>
${paths('POST /v1/traces')}
<h2>Read</h2>
<p>With <code>x-api-key</code>, or with the bearer token that <code>POST&nbsp;/auth/sign-in</code> answers, for example:</p>
${paths('GET /dashboard/api/organization/summary', 'POST /dashboard/api/user-stories', 'POST /dashboard/api/raw-logs')}
<p>All endpoints, with the shape of every request and answer: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
<h2>Is it up</h2>
<p><a href="/healthz">/healthz</a> says that it is alive, <a href="/readyz">/readyz</a> whether it can work, and if not, why.</p>
</body>
</html>
`
