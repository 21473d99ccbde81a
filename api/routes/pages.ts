import { mayRole, ROLES, scopeOf } from '../../shared/contract/permissions.ts'
import type { Route } from '../../shared/contract/route.ts'
import { ROUTES } from '../../shared/contract/routes.ts'

const STYLE = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  code { font: .9em ui-monospace, monospace }
  table { border-collapse: collapse; width: 100% }
  td { padding: .25rem .75rem .25rem 0; vertical-align: top }
  td:last-child { opacity: .75 }
  @media (max-width: 40rem) {
    tr, td { display: block; padding: 0 }
    tr { padding: .5rem 0 }
    code { overflow-wrap: anywhere }
  }
`

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
}

function authWords({ auth }: Route): string {
  if (auth === 'none') return ''
  const roles = ROLES.filter((role) => mayRole(role, auth))
  const people = roles.length === ROLES.length ? 'signed in' : `signed in as ${roles.join(' or ')}`
  const scope = scopeOf(auth)
  return scope === null ? people : `${people}, or a key with ${scope}`
}

function routeRow(route: Route): string {
  const cells = [`${route.method} ${route.path}`, route.summary, authWords(route)].map(escapeHtml)
  return `<tr><td><code>${cells[0]}</code></td><td>${cells[1]}</td><td>${cells[2]}</td></tr>`
}

/** The contract's routes for people: no script, nothing loaded. */
export function docsPage(): string {
  const routes: Route[] = Object.values(ROUTES)
  const tags = [...new Set(routes.map((route) => route.tag))]
  const sections = tags.map((tag) => {
    const rows = routes.filter((route) => route.tag === tag).map(routeRow)
    return `<h2>${escapeHtml(tag)}</h2>\n<table>\n${rows.join('\n')}\n</table>`
  })
  return page(
    'Pulsegate API',
    `<h1>Pulsegate API</h1>
<p>Requests and answers in full: <a href="/openapi.json">openapi.json</a>. Paths below <code>/v1</code> answer below
<code>/api/v1</code> as well. Send <code>Authorization: Bearer</code> with a JWT or an API key.</p>
${sections.join('\n')}`
  )
}
