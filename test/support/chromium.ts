import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}

/** Chromium of this machine: `CHROMIUM`, else the first one on PATH. */
function findChromium(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env
  if (CHROMIUM) return CHROMIUM
  return PATH.split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)))
    .find(isProgram)
}

const path = findChromium()

/** For the options of a test: why it cannot run here. Where `CI` is set it runs all the same, and fails. */
export const withoutChromium: string | false =
  path !== undefined || process.env.CI
    ? false
    : 'there is no Chromium on this machine: install chromium, or set CHROMIUM to its path'

/** Chromium refuses to run as root inside its sandbox; it is to open no address but ours, so it asks for no updates. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync'
]

/** @param rules which host is where, such as `MAP a.example.com:443 localhost:8443` */
export function launchChromium(rules = ''): Promise<Browser> {
  if (path === undefined) throw new Error('there is no Chromium on this machine, and CI demands the tests in it')
  const isRoot = process.getuid?.() === 0
  const flags = rules === '' ? FLAGS : [...FLAGS, `--host-resolver-rules=${rules}`]
  return chromium.launch({ executablePath: path, args: isRoot ? ['--no-sandbox', ...flags] : flags })
}
