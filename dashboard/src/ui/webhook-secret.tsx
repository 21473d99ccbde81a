import { Alert, Anchor, Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { IconKey } from '@tabler/icons-react'
import { CopyBlock } from './copy-block.tsx'

const NODE = `import { createHmac, timingSafeEqual } from 'node:crypto'

function isGenuine(headers, body, secret) {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = headers['webhook-id'] + '.' + headers['webhook-timestamp'] + '.' + body
  const wanted = Buffer.from('v1,' + createHmac('sha256', key).update(signed).digest('base64'))
  const given = Buffer.from(headers['webhook-signature'])
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}`

const PYTHON = `import base64, hashlib, hmac

def is_genuine(headers, body: str, secret: str) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f'{headers["webhook-id"]}.{headers["webhook-timestamp"]}.{body}'
    digest = hmac.new(key, signed.encode(), hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(digest).decode()
    return hmac.compare_digest(wanted, headers["webhook-signature"])`

/** The one time that the secret of a webhook is shown. */
export function WebhookSecret({ name, secret, onSaved }: { name: string; secret: string; onSaved: () => void }) {
  return (
    <Stack>
      <Alert icon={<IconKey aria-hidden />} color="yellow" variant="light">
        This is the only time that the secret of <strong>{name}</strong> is shown. Save it before you close this.
      </Alert>
      <CopyBlock text={secret} label="secret" />
      <Text size="sm">
        With it your server tells our calls from others. They are signed as{' '}
        <Anchor href="https://www.standardwebhooks.com" target="_blank" rel="noreferrer" inherit underline="always">
          Standard Webhooks
        </Anchor>{' '}
        says, so one of its libraries can verify them, or these lines. The body has to be as it came, before anything
        parses it; refuse a <code>webhook-timestamp</code> that is more than five minutes old.
      </Text>
      <Tabs defaultValue="node">
        <Tabs.List aria-label="How to verify a call">
          <Tabs.Tab value="node">Node</Tabs.Tab>
          <Tabs.Tab value="python">Python</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="node" pt="sm">
          <CopyBlock text={NODE} label="Node snippet" />
        </Tabs.Panel>
        <Tabs.Panel value="python" pt="sm">
          <CopyBlock text={PYTHON} label="Python snippet" />
        </Tabs.Panel>
      </Tabs>
      <Group justify="flex-end">
        <Button onClick={onSaved}>I have saved it</Button>
      </Group>
    </Stack>
  )
}
