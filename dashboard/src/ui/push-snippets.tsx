import { Loader, Stack, Tabs, Text } from '@mantine/core'
import { CopyBlock } from './copy-block.tsx'
import { CA_FILE, trustCommand, useInstallation } from './installation.ts'

function snippetsOf(pushUrl: string, caUrl: string | undefined) {
  const isOurs = caUrl !== undefined
  const curl = `curl -fsS -m 10 --retry 3${isOurs ? ` --cacert ~/${CA_FILE}` : ''}`
  const python = isOurs
    ? `import os, ssl, urllib.request

trust = ssl.create_default_context(cafile=os.path.expanduser("~/${CA_FILE}"))
urllib.request.urlopen("${pushUrl}", timeout=10, context=trust)`
    : `import urllib.request\n\nurllib.request.urlopen("${pushUrl}", timeout=10)`
  return [
    ['curl', `${isOurs ? `${trustCommand(caUrl)}\n` : ''}${curl} '${pushUrl}'`],
    ['cron', `*/5 * * * * /path/to/job && ${curl} -o /dev/null '${pushUrl}'`],
    [
      'PowerShell',
      `Invoke-RestMethod -TimeoutSec 10 -MaximumRetryCount 3${isOurs ? ' -SkipCertificateCheck' : ''} '${pushUrl}'`
    ],
    ['Python', python]
  ] as const
}

/** Ways to ping a push URL, ready to copy. */
export function PushSnippets({ pushUrl }: { pushUrl: string }) {
  const installation = useInstallation()
  if (installation === undefined) return <Loader size="sm" role="status" aria-label="Loading" />
  const { caUrl } = installation
  const snippets = snippetsOf(pushUrl, caUrl)
  return (
    <Stack gap="xs">
      <Tabs defaultValue="curl">
        <Tabs.List aria-label="How to ping it">
          {snippets.map(([name]) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(([name, text]) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            <CopyBlock text={text} label={`${name} snippet`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      {caUrl === undefined ? null : (
        <Text size="sm" c="dimmed">
          This installation made its certificate itself. The first line of the curl snippet fetches, once, what a
          machine has to trust.
        </Text>
      )}
    </Stack>
  )
}
