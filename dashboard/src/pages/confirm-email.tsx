import { Anchor, Button, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../api.ts'
import { useFreshSession } from '../session.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** A button and not at once: programs that look into mails open every link. */
export function ConfirmEmailPage() {
  const [done, setDone] = useState(false)
  const refresh = useFreshSession()
  const { fault, busy, onSubmit } = useSubmit(useForm(), async () => {
    // Behind #, which no browser sends to a server, so it is in nobody's log.
    await call('POST /v1/auth/email/confirm', { body: { token: globalThis.location.hash.slice(1) } })
    setDone(true)
    await refresh()
  })
  return (
    <SignedOutPage title="New e-mail address">
      {done ? (
        <Text role="status">
          Your account has this address now.{' '}
          <Anchor component={Link} href="/" inherit underline="always">
            Go on
          </Anchor>
        </Text>
      ) : (
        <form onSubmit={onSubmit} noValidate>
          <Stack>
            <ProblemAlert error={fault} />
            <Text>You sign in with this address from now on.</Text>
            <Button type="submit" loading={busy}>
              Confirm the address
            </Button>
          </Stack>
        </form>
      )}
    </SignedOutPage>
  )
}
