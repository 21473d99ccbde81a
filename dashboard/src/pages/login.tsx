import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { Link, Redirect, useLocation, useSearchParams } from 'wouter'
import { call, Problem } from '../api.ts'
import { meOf, useFreshSession, useSession } from '../session.tsx'
import { PasswordField } from '../ui/password-field.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { ProviderButtons } from '../ui/provider-buttons.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** Only a path of ours: nobody is sent elsewhere after signing in. */
function safePath(wanted: string | null): string {
  return wanted !== null && /^\/(?![/\\])/.test(wanted) ? wanted : '/'
}

/** What went wrong at an identity provider, by the code in the address. */
const SSO_FAULTS: Partial<Record<string, string>> = {
  invitation_of_another: 'The invitation is for another e-mail address.',
  reauthentication_required: 'Linking an account asks for a sign-in of the last ten minutes: sign in again first.',
  sign_in_first: 'You have an account here: sign in as before, and link the provider under My account.',
  sso_denied: 'The provider did not let you in.',
  sso_email_unverified: 'The provider does not vouch for your e-mail address.',
  sso_identity_taken: 'That identity is linked to another account.',
  sso_not_connected: 'No organization here lets that identity in. Ask an owner for an invitation.',
  sso_personal_account: 'Personal accounts cannot be used; choose the one of your organization.',
  sso_state_invalid: 'That took too long, or was begun in another browser.',
  sso_unavailable: 'The provider cannot be reached right now.',
  sso_wrong_tenant: 'That identity is of another organization than the one asked for.'
}

const PROVIDERS: Partial<Record<string, string>> = { entra: 'Microsoft', google: 'Google' }

function SsoFault({ code, connecting }: { code: string | null; connecting: string | null }) {
  if (code === null) return null
  if (connecting !== null) {
    return (
      <Alert color="blue" variant="light" role="alert">
        An account with this e-mail exists. Enter its password once to connect it with {connecting}.
      </Alert>
    )
  }
  return (
    <Alert color="red" variant="light" role="alert">
      {SSO_FAULTS[code] ?? `Signing in did not work (${code.replaceAll('_', ' ')}).`} Try again, or use your password.
    </Alert>
  )
}

export function LoginPage() {
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const next = safePath(search.get('next'))
  const ssoFault = search.get('error')
  /** The provider whose identity waits for the password of the account with its address. */
  const connecting = ssoFault === 'sign_in_first' ? (PROVIDERS[search.get('provider') ?? ''] ?? null) : null
  const refresh = useFreshSession()
  const form = useForm({ initialValues: { email: '', password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    try {
      await call('POST /v1/auth/login', { body: connecting === null ? body : { ...body, connect: true } })
    } catch (error) {
      // Nothing waits to be connected any more; the password alone may still do.
      const isLost = error instanceof Problem && error.code === 'sso_state_invalid'
      if (isLost) navigate(`/login?${new URLSearchParams({ error: error.code, next })}`, { replace: true })
      throw error
    }
    await refresh()
    navigate(next)
  })
  const session = useSession().data
  if (ssoFault === null && session !== undefined && meOf(session) !== null) return <Redirect to={next} replace />
  return (
    <SignedOutPage title="Sign in">
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <ProblemAlert error={fault} />
          {fault === null ? <SsoFault code={ssoFault} connecting={connecting} /> : null}
          <TextInput label="E-mail" type="email" required autoComplete="username" {...form.getInputProps('email')} />
          <PasswordField {...form.getInputProps('password')} />
          <Button type="submit" loading={busy} fullWidth>
            {connecting === null ? 'Sign in' : `Connect with ${connecting}`}
          </Button>
          <ProviderButtons query={{ returnTo: next }} />
          <Text size="sm" ta="center">
            <Anchor component={Link} href="/forgot-password" inherit underline="always">
              Forgot the password?
            </Anchor>{' '}
            ·{' '}
            <Anchor component={Link} href="/signup" inherit underline="always">
              Sign up
            </Anchor>
          </Text>
        </Stack>
      </form>
    </SignedOutPage>
  )
}
