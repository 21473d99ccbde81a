import { Tabs } from '@mantine/core'
import { CopyBlock } from './copy-block.tsx'

/** Ways to ping a push URL, ready to copy. */
export function PushSnippets({ pushUrl }: { pushUrl: string }) {
  const snippets = [
    ['curl', `curl -fsS -m 10 --retry 3 '${pushUrl}'`],
    ['cron', `*/5 * * * * /path/to/job && curl -fsS -m 10 --retry 3 -o /dev/null '${pushUrl}'`],
    ['PowerShell', `Invoke-RestMethod -TimeoutSec 10 -MaximumRetryCount 3 '${pushUrl}'`],
    ['Python', `import urllib.request\n\nurllib.request.urlopen("${pushUrl}", timeout=10)`]
  ] as const
  return (
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
  )
}
