import { Alert, Tabs } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { useMe } from '../session.tsx'
import { AccountSection } from '../settings/account.tsx'
import { AuditSection } from '../settings/audit.tsx'
import { MaintenanceSection } from '../settings/maintenance.tsx'
import { OrganizationSection } from '../settings/organization.tsx'
import { SsoSection } from '../settings/sso.tsx'
import { TeamSection } from '../settings/team.tsx'
import { WebhooksSection } from '../settings/webhooks.tsx'
import { Page } from '../ui/page.tsx'

const SECTIONS = [
  { value: 'organization', label: 'Organization', section: OrganizationSection, admins: false },
  { value: 'team', label: 'Team', section: TeamSection, admins: false },
  { value: 'sso', label: 'Single sign-on', section: SsoSection, admins: true },
  { value: 'webhooks', label: 'Webhooks', section: WebhooksSection, admins: true },
  { value: 'maintenance', label: 'Maintenance', section: MaintenanceSection, admins: false },
  { value: 'audit', label: 'Audit log', section: AuditSection, admins: true },
  { value: 'account', label: 'My account', section: AccountSection, admins: false }
] as const

export function SettingsPage() {
  const { role } = useMe()
  const [search, setSearch] = useSearchParams()
  const allowed = SECTIONS.filter(({ admins }) => !admins || role !== 'member')
  const wanted = SECTIONS.find(({ value }) => value === search.get('section')) ?? SECTIONS[0]
  const mayRead = allowed.includes(wanted)
  return (
    <Page title="Settings">
      <Tabs
        value={wanted.value}
        onChange={(value) => setSearch({ section: value ?? 'organization' })}
        keepMounted={false}
      >
        <Tabs.List mb="md" aria-label="Sections">
          {allowed.map(({ value, label }) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {allowed.map(({ value, section: Section }) => (
          <Tabs.Panel key={value} value={value}>
            <Section />
          </Tabs.Panel>
        ))}
      </Tabs>
      {mayRead ? null : (
        <Alert variant="light">
          The section “{wanted.label}” is for admins and owners. Ask one of them, or choose another.
        </Alert>
      )}
    </Page>
  )
}
