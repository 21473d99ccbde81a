// Installs Chromium for the tests of the dashboard, where Debian's packages and root are at hand.
// Plain JavaScript without dependencies: it runs before anything is installed or built.
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** As the tests look for it (test/support/chromium.ts). */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch (error) {
    if (error.code === undefined) throw error
    return false
  }
}

function isThere() {
  if (process.env.CHROMIUM) return true
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.some((folder) => NAMES.some((name) => isProgram(join(folder, name))))
}

function apt(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return spawnSync('apt-get', ['-qq', ...args], { encoding: 'utf8', env })
}

/**
 * Makes sure that there is a Chromium, if it can. Where it cannot, it says so once and goes on: the tests that need it
 * are skipped then, and fail where `CI` is set.
 */
export function ensureChromium(say) {
  if (isThere()) return
  if (process.getuid?.() !== 0 || apt('--version').status !== 0) {
    say('There is no Chromium: the tests of the dashboard are skipped. Install chromium, or set CHROMIUM to its path.')
    return
  }
  say('Installing Chromium for the tests of the dashboard (about 110 MB, once) …')
  const install = ['install', '-y', '--no-install-recommends', 'chromium']
  if (apt(...install).status === 0) return
  apt('update')
  const { status, stderr } = apt(...install)
  if (status !== 0) say(`Chromium could not be installed, so the tests of the dashboard are skipped: ${stderr.trim()}`)
}
