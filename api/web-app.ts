import { existsSync, readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import compression from 'compression'
import express, { type Express, type Request, type Response } from 'express'
import { StartupError } from '../shared/env.ts'
import { AppError } from '../shared/errors.ts'

/** The paths of the dashboard's pages; what they show is decided in the browser. */
const PAGES = [
  '/',
  '/welcome',
  '/signup',
  '/login',
  '/forgot-password',
  '/reset-password',
  '/confirm-email',
  '/invitations/:token',
  '/monitors',
  '/monitors/:id',
  '/agents',
  '/settings'
]

/** No script but our files. Mantine writes its variables into a style element, and sets styles on elements. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'"
].join('; ')

/** Of files whose names change with what is in them, and of the others. */
const FOR_GOOD = 'public, max-age=31536000, immutable'
const FOR_AN_HOUR = 'public, max-age=3600'

/** `no-store` is on every answer by now, and a file has to take it off; who asks for none keeps it. */
function filesOf(folder: string, cacheControl: string) {
  const setHeaders = (response: ServerResponse) => response.setHeader('Cache-Control', cacheControl)
  return express.static(folder, { index: false, redirect: false, dotfiles: 'ignore', setHeaders })
}

/** Where the build is, seen from the source tree and from dist/ alike. */
function webFolder(): string {
  const fromDist = import.meta.url.includes('/dist/api/')
  return fileURLToPath(new URL(fromDist ? '../web' : '../dist/web', import.meta.url))
}

/**
 * Serves the built dashboard: its pages, and its files, whose names change with what is in them.
 * @throws StartupError when it was not built.
 */
export function serveWebApp(app: Express, linkHeader: string): void {
  const folder = webFolder()
  const indexFile = join(folder, 'index.html')
  if (!existsSync(indexFile)) throw new StartupError('The dashboard is not built. Run: npm run build')
  const index = readFileSync(indexFile, 'utf8')
  app.use('/assets', compression(), filesOf(join(folder, 'assets'), FOR_GOOD))
  app.get('/favicon.svg', filesOf(folder, FOR_AN_HOUR))
  app.all(PAGES, (request: Request, response: Response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD')
      throw new AppError('method_not_allowed')
    }
    response.setHeader('Content-Security-Policy', PAGE_POLICY)
    response.setHeader('Referrer-Policy', 'no-referrer')
    response.setHeader('Cache-Control', 'no-cache')
    if (request.path === '/') response.setHeader('Link', linkHeader)
    response.type('html').send(index)
  })
}
